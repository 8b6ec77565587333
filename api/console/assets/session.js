/** Session: the key is kept in this tab's storage and sent only to the service. */

const KEPT = "recollect.key";

export const session = {
  read: () => sessionStorage.getItem(KEPT),
  begin: (key) => sessionStorage.setItem(KEPT, key),
  end: () => sessionStorage.removeItem(KEPT),
};
