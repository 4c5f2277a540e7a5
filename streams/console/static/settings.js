// Checks a proposal as it is typed. Without this script the button does the same.
import { fetchInto } from "./fetching.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("proposal"));
let waiting = 0;

form.addEventListener("input", (event) => {
  if (event.target instanceof HTMLSelectElement && event.target.name === "add") {
    form.submit();
    return;
  }
  window.clearTimeout(waiting);
  waiting = window.setTimeout(check, 250);
});

function check() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value !== "") query.append(name, String(value));
  const address = `${form.getAttribute("action")}?${query}`;
  history.replaceState(null, "", address);
  const problems = [...form.querySelectorAll(".error-text")].map((each) => each.id);
  void fetchInto(address, ["answer", ...problems]);
}

// What was typed before this script was there.
const typed = [...form.elements].some(
  (each) => (each instanceof HTMLInputElement || each instanceof HTMLTextAreaElement) && each.value !== each.defaultValue,
);
if (typed) check();
