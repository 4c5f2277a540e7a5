// A link to log in has the token behind the #, so that no server and no log sees it before this form sends it.
const token = new URLSearchParams(location.hash.slice(1)).get("t");
const form = document.getElementById("login");
if (token && form instanceof HTMLFormElement) {
  const field = form.elements.namedItem("token");
  if (field instanceof HTMLInputElement) field.value = token;
  history.replaceState(null, "", location.pathname + location.search);
  form.submit();
}
