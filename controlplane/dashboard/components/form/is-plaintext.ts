/** Reports whether requests to this URL are sent without TLS. */
export function isPlaintext(url: string): boolean {
  return /^http:/i.test(url.trim())
}
