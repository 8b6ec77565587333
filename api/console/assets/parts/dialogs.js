/** Dialogs. */

import { el, freshId, refill } from "../dom.js";
import { button, copyButton } from "./forms.js";

/** Show a dialog; resolves to the value it was closed with, or null. `build` receives the function that closes it. */
export function showDialog(title, build) {
  const { promise, resolve } = Promise.withResolvers();
  const heading = el("h2", { id: freshId("dialog") }, title);
  const dialog = el("dialog", { "aria-labelledby": heading.id });
  const close = (answer) => {
    resolve(answer);
    dialog.close();
  };
  refill(dialog, heading, build(close));
  dialog.addEventListener("close", () => {
    dialog.remove();
    resolve(null);
  });
  document.body.append(dialog);
  dialog.showModal();
  return promise;
}

/** Ask for confirmation of an action. */
export async function confirmAction(title, text, action) {
  const answer = await showDialog(title, (close) => [
    el("p", {}, text),
    el(
      "div.actions",
      {},
      button("Cancel", () => close(false), { autofocus: true }),
      button(action, () => close(true), { class: "danger" }),
    ),
  ]);
  return answer === true;
}

/** Show a secret, once. */
export function secretDialog(title, advice, secret) {
  return showDialog(title, (close) => [
    el("p", {}, advice),
    el("p", {}, el("code.secret", { tabindex: "0" }, secret)),
    el("div.actions", {}, copyButton(() => secret), button("Done", () => close(true), { class: "primary", autofocus: true })),
  ]);
}
