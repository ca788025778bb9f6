/**
 * Hosts of the push services of browsers, and suffixes of hosts with a leading dot: Chrome and Edge on other systems (Google),
 * Firefox (Mozilla), Edge on Windows (Microsoft), Safari (Apple). Users choose endpoints, so messages go to no other host.
 */
export const PUSH_SERVICES: readonly string[] = [
  'fcm.googleapis.com',
  '.push.services.mozilla.com',
  '.notify.windows.com',
  '.push.apple.com',
]

/** Reports whether the URL is an endpoint of a known push service: https, without a user name. */
export function isPushEndpoint(endpoint: string, services: readonly string[] = PUSH_SERVICES): boolean {
  if (!URL.canParse(endpoint)) return false
  const { protocol, hostname, username, password } = new URL(endpoint)
  if (protocol !== 'https:' || username !== '' || password !== '') return false
  return services.some((service) =>
    service.startsWith('.') ? hostname.endsWith(service) : hostname === service,
  )
}
