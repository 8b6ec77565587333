/** Signing in with a key. */

import { Api, ApiError } from "../api.js";
import { el, refill } from "../dom.js";
import { field, form } from "../parts/forms.js";
import { problem } from "../parts/placeholders.js";
import { themeSwitch } from "../theme-switch.js";

/** Build the page; `signedIn` receives the key and the answer of /admin/whoami. */
export function signIn(signedIn, reason = "") {
  const key = el("input", {
    id: "key",
    type: "password",
    required: true,
    autofocus: true,
    autocomplete: "off",
    spellcheck: "false",
  });
  const trouble = el("p.trouble", { role: "alert" }, reason);
  const asked = async () => {
    refill(trouble);
    try {
      const given = key.value.trim().replace(/^Bearer\s+/i, "");
      if (/[^!-~]/.test(given)) throw new ApiError(401, "The API key is not valid", "It has characters that no key has.");
      await signedIn(given, await new Api(given).get("admin/whoami"));
    } catch (error) {
      refill(trouble, problem(error));
      key.focus();
    }
  };
  return el(
    "main.sign-in",
    {},
    el("div.brand", {}, el("img", { src: "icon.svg", alt: "", width: "32", height: "32" }), el("h1", {}, "recollect")),
    el(
      "div.card",
      {},
      el("p.muted", {}, "Sign in with an API key. You see and change what the key allows."),
      form(asked, {}, field("API key", key), el("button.primary", { type: "submit" }, "Sign in"), trouble),
      el("p.hint", {}, "The first admin key is printed when the service starts for the first time. ", el("code", {}, "recollect keys create"), " creates others."),
      el("p.hint", {}, "New here? ", el("a", { href: "../docs/" }, "Guides and API reference"), " need no key."),
      el("p.hint", {}, "The key stays in this browser tab until you close it or sign out."),
    ),
    themeSwitch(),
  );
}
