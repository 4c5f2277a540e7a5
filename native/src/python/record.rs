//! Which records are accepted, and what of them is forwarded (specification 2.1, 2.2).

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

type Rule = fn(&Bound<'_, PyAny>) -> bool;

/// What is asked of a nested record.
struct Group {
    rules: &'static [(&'static str, Rule)],
    required: &'static [&'static str],
    is_optional: bool,
    /// Plain booleans of the schema: a null is left out.
    never_null: &'static [&'static str],
}

const META: Group = Group {
    rules: &[
        ("trace_id", text),
        ("timestamp", timestamp),
        ("parent_step_id", text),
        ("cluster_id", text),
        ("round_id", text),
        ("parent_session_id", text),
        ("user_turn", text),
        ("context_change", text),
    ],
    required: &["trace_id", "timestamp"],
    is_optional: false,
    never_null: &[],
};
const IDENTITY: Group = Group {
    rules: &[
        ("agent_id", text),
        ("agent_type", text),
        ("capability_version", text),
    ],
    required: &["agent_id", "agent_type"],
    is_optional: false,
    never_null: &[],
};
const COGNITION: Group = Group {
    rules: &[
        ("intent", text),
        ("goal", text),
        ("reasoning_chain", texts),
        ("confidence_score", number),
        ("strategy_used", text),
        ("entropy_score", number),
    ],
    required: &["intent"],
    is_optional: true,
    never_null: &[],
};
const ACTION: Group = Group {
    rules: &[
        ("status", status),
        ("kind", text),
        ("tool_call", text),
        ("tool_input", text),
        ("target", text),
        ("content_hash", text),
        ("error", text),
        ("tool_output_summary", text),
    ],
    required: &["status"],
    is_optional: false,
    never_null: &[],
};
const STATE_DELTA: Group = Group {
    rules: &[
        ("added_to_memory", texts),
        ("tokens_consumed", tokens),
        ("cumulative_session_cost", number),
        ("progress_delta", number),
        ("context_quality", number),
        ("tokens_cached", tokens),
    ],
    required: &[],
    is_optional: true,
    never_null: &[],
};
const CONTROL: Group = Group {
    rules: &[
        ("hitl_required", flag),
        ("interrupt_signal", text),
        ("is_terminal", flag),
    ],
    required: &[],
    is_optional: true,
    never_null: &["hitl_required", "is_terminal"],
};

fn group(name: &str) -> Option<&'static Group> {
    match name {
        "meta" => Some(&META),
        "identity" => Some(&IDENTITY),
        "cognition" => Some(&COGNITION),
        "action" => Some(&ACTION),
        "state_delta" => Some(&STATE_DELTA),
        "control" => Some(&CONTROL),
        _ => None,
    }
}

/// Returns what is forwarded of a valid record; `None` for one that Python must look at.
#[pyfunction]
#[pyo3(signature = (value, /))]
pub fn known_fields<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    let value = value.cast_exact::<PyDict>().ok()?;
    let known = PyDict::new(value.py());
    let mut found = 0;
    // No code of Python runs in here, so nothing can change the record meanwhile.
    for (key, part) in value {
        let name = key.cast::<PyString>().ok()?.to_str().ok()?;
        if let Some(group) = group(name) {
            if part.is_none() {
                group.is_optional.then_some(())?;
            } else {
                let fields = part.cast_exact::<PyDict>().ok()?;
                is_as_it_came(fields, group)?;
                found += usize::from(!group.is_optional);
                if name == "meta" && is_empty_text(fields, "parent_step_id")? {
                    return None;
                }
            }
        } else {
            match name {
                "session_id" | "event_id" => {
                    (!part
                        .cast_exact::<PyString>()
                        .ok()?
                        .to_str()
                        .ok()?
                        .is_empty())
                    .then_some(())?;
                    found += 1;
                }
                "task_type" => (part.is_none() || text(&part)).then_some(())?,
                _ => continue,
            }
        }
        known.set_item(key, part).ok()?;
    }
    // Each of them once: session_id, event_id, meta, identity and action.
    (found == 5).then_some(known)
}

fn is_empty_text(fields: &Bound<'_, PyDict>, name: &str) -> Option<bool> {
    let Some(value) = fields.get_item(name).ok()? else {
        return Some(false);
    };
    Some(
        value
            .cast::<PyString>()
            .is_ok_and(|text| text.len().is_ok_and(|length| length == 0)),
    )
}

/// Tells, by `Some`, that a nested record is valid and has nothing that is left out.
fn is_as_it_came(fields: &Bound<'_, PyDict>, group: &Group) -> Option<()> {
    let mut required = 0;
    for (key, value) in fields {
        let name = key.cast::<PyString>().ok()?.to_str().ok()?;
        let (_, rule) = group.rules.iter().find(|(known, _)| *known == name)?;
        let is_required = group.required.contains(&name);
        let holds = if value.is_none() {
            !(is_required || group.never_null.contains(&name))
        } else {
            rule(&value)
        };
        holds.then_some(())?;
        required += usize::from(is_required);
    }
    (required == group.required.len()).then_some(())
}

fn text(value: &Bound<'_, PyAny>) -> bool {
    // Half a surrogate pair has no UTF-8.
    value
        .cast_exact::<PyString>()
        .is_ok_and(|text| text.to_str().is_ok())
}

fn texts(value: &Bound<'_, PyAny>) -> bool {
    value
        .cast_exact::<PyList>()
        .is_ok_and(|list| list.iter().all(|item| text(&item)))
}

fn status(value: &Bound<'_, PyAny>) -> bool {
    let known = |status: &str| matches!(status, "success" | "failure" | "pending" | "skipped");
    value
        .cast_exact::<PyString>()
        .is_ok_and(|text| text.to_str().is_ok_and(known))
}

fn flag(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyBool>()
}

fn number(value: &Bound<'_, PyAny>) -> bool {
    if let Ok(float) = value.cast_exact::<PyFloat>() {
        return float.value().is_finite();
    }
    // Python looks at those beyond 63 bits.
    integer(value).is_some()
}

fn tokens(value: &Bound<'_, PyAny>) -> bool {
    number(value)
}

fn timestamp(value: &Bound<'_, PyAny>) -> bool {
    integer(value).is_some_and(|number| number >= 0)
}

fn integer(value: &Bound<'_, PyAny>) -> Option<i64> {
    value.cast_exact::<PyInt>().ok()?.extract().ok()
}
