import { createHash } from 'node:crypto'
import type { RawHeaders } from '../../../core/request/canonical.ts'
import { isWebSocket } from '../../../core/request/canonicalise.ts'
import { headerValues } from '../../../core/request/headers/headers.ts'

/** GUID of the WebSocket handshake (RFC 6455, section 1.3). */
const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/**
 * Returns the reason why a 101 response does not open the requested WebSocket (RFC 6455, section 4.1); null when it
 * does. After any other 101 the bytes would belong to a protocol for which there was no decision.
 */
export function switchingProblem(asked: RawHeaders, answer: RawHeaders): string | null {
  const [upgrade, ...otherUpgrades] = headerValues(answer, 'upgrade')
  if (otherUpgrades.length > 0 || !isWebSocket(upgrade?.trim()))
    return 'the Upgrade header is not "websocket"'
  const options = headerValues(answer, 'connection').flatMap((value) => value.toLowerCase().split(','))
  if (!options.some((option) => option.trim() === 'upgrade'))
    return 'the Connection header does not contain "upgrade"'
  return acceptProblem(asked, answer) ?? protocolProblem(asked, answer) ?? extensionProblem(asked, answer)
}

function acceptProblem(asked: RawHeaders, answer: RawHeaders): string | null {
  const [key, ...otherKeys] = headerValues(asked, 'sec-websocket-key')
  if (key === undefined || otherKeys.length > 0)
    return 'the request does not have exactly one Sec-WebSocket-Key'
  const [accept, ...otherAccepts] = headerValues(answer, 'sec-websocket-accept')
  const wanted = createHash('sha1').update(`${key.trim()}${HANDSHAKE_GUID}`).digest('base64')
  return otherAccepts.length === 0 && accept?.trim() === wanted
    ? null
    : 'the Sec-WebSocket-Accept header does not match the key'
}

function protocolProblem(asked: RawHeaders, answer: RawHeaders): string | null {
  const chosen = headerValues(answer, 'sec-websocket-protocol')
  if (chosen.length === 0) return null
  const offered = headerValues(asked, 'sec-websocket-protocol').flatMap((value) => value.split(','))
  return chosen.length === 1 && offered.some((one) => one.trim() === chosen[0]?.trim())
    ? null
    : 'the server selected a subprotocol that was not offered'
}

/**
 * Returns a problem when the server selects an extension that the client did not offer. Extensions change the meaning
 * of frames.
 */
function extensionProblem(asked: RawHeaders, answer: RawHeaders): string | null {
  const offered = new Set(extensionNames(asked))
  return extensionNames(answer).every((name) => offered.has(name))
    ? null
    : 'the server selected an extension that was not offered'
}

/**
 * Returns the names of the extensions. A comma in a quoted value splits the value, and the rest of it counts as a name
 * that was not offered. No extension in use has values with commas.
 */
function extensionNames(headers: RawHeaders): readonly string[] {
  return headerValues(headers, 'sec-websocket-extensions')
    .flatMap((value) => value.split(','))
    .map((extension) => extension.split(';')[0]?.trim().toLowerCase() ?? '')
    .filter((name) => name !== '')
}
