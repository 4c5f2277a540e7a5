// Fetches a page and takes parts of it over, so that nothing else on the screen moves.
import { parsed } from "./trusted.js";

let newest = 0;

/**
 * Replace the elements with these ids by those of a page.
 * @param {string} address
 * @param {string[]} ids
 * @returns {Promise<boolean>} whether it was the newest request, and was answered
 */
export async function fetchInto(address, ids) {
  const number = ++newest;
  const answer = await fetch(address, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  const text = await answer.text();
  if (number !== newest) return false;
  const page = parsed(text);
  for (const id of ids) {
    const fresh = page.getElementById(id);
    const old = document.getElementById(id);
    if (fresh && old) old.replaceWith(document.adoptNode(fresh));
  }
  return answer.ok;
}
