/**
 * Hosts of the push services of browsers, and host suffixes with a leading dot: Google (Chrome, and Edge outside
 * Windows), Mozilla (Firefox), Microsoft (Edge on Windows) and Apple (Safari). Users choose endpoints, so messages are
 * sent to no other host.
 */
export const PUSH_SERVICES: readonly string[] = [
  'fcm.googleapis.com',
  '.push.services.mozilla.com',
  '.notify.windows.com',
  '.push.apple.com',
]

/** Reports whether the URL is an endpoint of a known push service, with https and without user name and password. */
export function isPushEndpoint(endpoint: string, services: readonly string[] = PUSH_SERVICES): boolean {
  if (!URL.canParse(endpoint)) return false
  const { protocol, hostname, username, password } = new URL(endpoint)
  if (protocol !== 'https:' || username !== '' || password !== '') return false
  return services.some((service) =>
    service.startsWith('.') ? hostname.endsWith(service) : hostname === service,
  )
}
