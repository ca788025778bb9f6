/** Reports whether the host is loopback: `localhost`, 127.0.0.0/8, `::1` with or without brackets. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** Reports whether secrets may be sent to this URL: the URL uses TLS, or its host is loopback. */
export function isConfidential(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}
