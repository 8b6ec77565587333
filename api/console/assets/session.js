/** The key of whoever is signed in: kept for this tab, gone when it is closed, and sent nowhere but to the service. */

const KEPT = "recollect.key";

export const session = {
  read: () => sessionStorage.getItem(KEPT),
  begin: (key) => sessionStorage.setItem(KEPT, key),
  end: () => sessionStorage.removeItem(KEPT),
};
