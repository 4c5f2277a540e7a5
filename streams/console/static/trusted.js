// The one place where text becomes elements or the address of a script. The server has escaped the text.
/** @type {{createHTML(text: string): any, createScriptURL(url: string): any}} */
export const trusted = /** @type {any} */ (window).trustedTypes
  ? /** @type {any} */ (window).trustedTypes.createPolicy("eddy", {
      createHTML: (/** @type {string} */ text) => text,
      createScriptURL: (/** @type {string} */ url) => {
        if (new URL(url, location.href).origin !== location.origin || !/\/static\/[0-9a-f]+\/live-worker\.js$/.test(url)) {
          throw new TypeError(`no script of the console: ${url}`);
        }
        return url;
      },
    })
  : { createHTML: (text) => text, createScriptURL: (url) => url };

/**
 * A page of the server as a document that is not shown.
 * @param {string} text
 * @returns {Document}
 */
export function parsed(text) {
  return new DOMParser().parseFromString(trusted.createHTML(text), "text/html");
}
