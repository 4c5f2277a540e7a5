// Judges again as a slider moves. Without this script the button does the same.
import { fetchInto } from "./fetching.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("sliders"));
let waiting = 0;

form.addEventListener("input", (event) => {
  const slider = /** @type {HTMLInputElement} */ (event.target);
  const label = slider.closest("label");
  const output = label?.querySelector("output");
  if (output) output.textContent = slider.value;
  label?.classList.toggle("changed", slider.value !== slider.dataset.default);
  window.clearTimeout(waiting);
  waiting = window.setTimeout(judge, 180);
});

function judge() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    const field = form.elements.namedItem(name);
    const isDefault = field instanceof HTMLInputElement && field.type === "range" && field.value === field.dataset.default;
    if (!isDefault) query.append(name, String(value));
  }
  const address = `${form.getAttribute("action")}?${query}`;
  history.replaceState(null, "", address);
  void fetchInto(address, ["answer"]);
}
