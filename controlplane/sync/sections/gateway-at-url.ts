import { withoutBrackets } from '../../../core/request/authority-text.ts'
import type { GatewayRow } from '../../features/gateways/rows.ts'

/**
 * Returns the gateway with this address. If no address matches, returns the only gateway; null when there are several
 * gateways or none.
 */
export function gatewayAtUrl(text: string, gateways: readonly GatewayRow[]): GatewayRow | null {
  const url = URL.canParse(text) ? new URL(text) : null
  const port = Number(url?.port || (url?.protocol === 'https:' ? 443 : 80))
  const host = url === null ? undefined : withoutBrackets(url.hostname)
  const [only, ...others] = gateways
  const registered = gateways.find((row) => row.host === host && row.port === port)
  return registered ?? (others.length > 0 ? null : (only ?? null))
}
