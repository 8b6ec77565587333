/** Questions that are asked before something is done. */

import { el, freshId } from "../dom.js";

/** Shows a dialog; what it was closed with, or null where it was left. `build` is given a function that closes it. */
export function ask(title, build) {
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

/** Whether somebody wants this done. */
export async function sure(title, text, action) {
  const answer = await ask(title, (close) => [
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
