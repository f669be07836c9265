// A request that tells how much of its body is sent, which `fetch` cannot. Otherwise it behaves as `fetch` does.

/** A promise of the Response; `onProgress(fraction)` is called while the body is on its way. */
export function sendWithProgress(url, { method, headers, body, signal, onProgress }) {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    const stop = () => sending.abort();
    signal?.addEventListener("abort", stop);
    sending.open(method, url);
    sending.responseType = "text";
    for (const [name, value] of Object.entries(headers)) sending.setRequestHeader(name, value);
    sending.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total ? loaded / total : 0));
    sending.addEventListener("load", () => resolve(new Response(sending.responseText, { status: sending.status, headers: readHeaders(sending) })));
    sending.addEventListener("error", () => reject(new TypeError("The request could not be made.")));
    sending.addEventListener("abort", () => reject(new DOMException("The request was given up.", "AbortError")));
    sending.addEventListener("loadend", () => signal?.removeEventListener("abort", stop));
    if (signal?.aborted) reject(signal.reason);
    else sending.send(body);
  });
}

function readHeaders(sending) {
  const lines = sending.getAllResponseHeaders().trim().split("\r\n");
  return new Headers(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
}
