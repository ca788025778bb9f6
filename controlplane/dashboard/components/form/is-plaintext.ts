/** Reports whether requests to this address are sent without TLS. */
export function isPlaintext(url: string): boolean {
  return /^http:/i.test(url.trim())
}
