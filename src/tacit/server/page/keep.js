// Keeps values in this browser, so that they survive a reload.

const STORE = "kept";

function opened() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("tacit", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(new Error("This browser cannot keep the file; a reload will lose it."));
  });
}

async function run(mode, action) {
  const database = await opened();
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(STORE, mode);
    const request = action(transaction.objectStore(STORE));
    transaction.oncomplete = () => resolve(request.result);
    transaction.onabort = () => reject(new Error("This browser has no room to keep the file; a reload will lose it."));
  }).finally(() => database.close());
}

export const kept = (name) => run("readonly", (store) => store.get(name));
export const keep = (name, value) => run("readwrite", (store) => store.put(value, name));
export const forget = () => run("readwrite", (store) => store.clear());
