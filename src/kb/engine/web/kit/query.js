// Parameters as an address has them behind its question mark.

/** "?tag=a&tag=b": lists repeat, and what is empty is left out; nothing at all if all of it is. */
export function queryString(parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of [value].flat()) {
      if (one !== undefined && one !== null && one !== "") query.append(name, one);
    }
  }
  const text = query.toString();
  return text && `?${text}`;
}
