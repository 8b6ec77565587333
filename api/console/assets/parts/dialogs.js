/** Dialogs. */

import { el, freshId } from "../dom.js";

/** Show a dialog; resolves to the value it was closed with, or null. `build` receives the function that closes it. */
export function showDialog(title, build) {
  const { promise, resolve } = Promise.withResolvers();
  const heading = el("h2", { id: freshId("dialog") }, title);
  const dialog = el("dialog", { "aria-labelledby": heading.id });
  const close = (answer) => {
    resolve(answer);
    dialog.close();
  };
  dialog.append(heading, ...build(close));
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
      el("button", { type: "button", autofocus: true, on: { click: () => close(false) } }, "Cancel"),
      el("button.danger", { type: "button", on: { click: () => close(true) } }, action),
    ),
  ]);
  return answer === true;
}
