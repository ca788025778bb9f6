import type { GatewayRow } from '../../features/gateways/rows.ts'

/** Returns the gateway that is registered with this address, else the only one; null where neither exists. */
export function gatewayAtUrl(text: string, gateways: readonly GatewayRow[]): GatewayRow | null {
  const url = URL.canParse(text) ? new URL(text) : null
  const port = Number(url?.port || (url?.protocol === 'https:' ? 443 : 80))
  const host = url?.hostname.replace(/^\[|\]$/g, '')
  const [only, ...others] = gateways
  const registered = gateways.find((row) => row.host === host && row.port === port)
  return registered ?? (others.length > 0 ? null : (only ?? null))
}
