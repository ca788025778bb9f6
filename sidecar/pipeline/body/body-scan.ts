import { scannedMembers } from '../../../core/connectors/classify.ts'
import type { BodyView } from '../../../core/connectors/connector.ts'
import { isPlainJson } from '../../../core/request/body/body.ts'
import { isRefusal, type Refusal, refusal } from '../../../core/request/canonical.ts'
import { scanJson, scanShortJson } from '../../../core/request/json/json-scan.ts'
import type { ScannedJson } from '../../../core/request/json/json-scanner.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { Pacer } from '../pacer.ts'
import type { Governed } from '../phases.ts'

/** Result of a body scan, with the bytes and members for which it was made. */
export type BodyScan = {
  readonly bytes: Buffer
  readonly keep: readonly string[]
  readonly result: ScannedJson
}

/** Returns the JSON members to keep in the scan of this exchange's body; null when the body is not scanned. */
export function membersToScan({ connector, request, body, template }: Governed): readonly string[] | null {
  if (body.isEmpty) return null
  if (!isPlainJson(request.body)) return null
  return template === null ? scannedMembers(connector, request) : template.scans.members(connector, request)
}

/**
 * Returns a refusal for a body in another format than JSON when the connector must scan the body for tools or URLs.
 * Many servers parse JSON under any media type. Returns null for other requests.
 */
export function judgeUnscanned({ connector, request, body }: Governed): Refusal | null {
  if (connector.connector.find === undefined || body.isEmpty) return null
  const { config } = connector
  const isRead = isPlainJson(request.body) || connector.connector.hasOpaqueBody?.(request, config) === true
  if (isRead || scannedMembers(connector, request) === null) return null
  return refusal(
    'unsupported_body',
    'the body can contain tools that the provider runs or URLs that it fetches, so the gateway must read the body; send application/json in UTF-8 without Content-Encoding',
  )
}

/**
 * Scans the whole body, a long one in slices. The exchange keeps the result, because a held request is classified again
 * when rules change.
 */
export function scanBody(
  exchange: Governed,
  bytes: Buffer,
  { keep, pacer }: { readonly keep: readonly string[]; readonly pacer: Pacer },
): BodyView | Refusal | Promise<BodyView | Refusal> {
  if (bytes.length === 0) return { kind: 'absent' }
  const known = exchange.scan
  if (known !== undefined && known.bytes === bytes && known.keep === keep) return viewOf(known.result)
  const request = { keep, find: exchange.connector.connector.find }
  const remember = (result: ScannedJson | Refusal): BodyView | Refusal => {
    if (isRefusal(result)) return result
    exchange.scan = { bytes, keep, result }
    return viewOf(result)
  }
  return bytes.length <= LIMITS.pacedBodyBytes
    ? remember(scanShortJson(bytes, request))
    : pacer.run(exchange, scanJson(bytes, request)).then(remember)
}

function viewOf({ value, found }: ScannedJson): BodyView {
  return { kind: 'json', value, found }
}
