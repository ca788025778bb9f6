import { type Refusal, refusal } from '../canonical.ts'
import { MAX_JSON_COMMAS, MAX_JSON_DEPTH, MAX_JSON_NODES, SCAN_BOUNDS } from './json-bounds.ts'
import { FIND_BOUNDS } from './member-finder.ts'

export function notUtf8(): Refusal {
  return refusal('malformed_request', 'the body is not valid UTF-8')
}

export function notJson(): Refusal {
  return refusal('malformed_request', 'the body is not valid JSON')
}

export function byteOrderMark(): Refusal {
  return refusal('ambiguous_request', 'the JSON body begins with a byte order mark; remove it')
}

export function trailingData(): Refusal {
  return refusal('ambiguous_request', 'the body has more data after the JSON value; send one JSON value only')
}

export function tooDeep(): Refusal {
  return refusal(
    'malformed_request',
    `the JSON body is nested deeper than ${MAX_JSON_DEPTH} levels; send less nested JSON`,
  )
}

export function twice(key: string): Refusal {
  return refusal(
    'ambiguous_request',
    `the key "${key.slice(0, 100)}" appears twice in one JSON object; send it once`,
  )
}

export function couldBe(key: string, other: string): Refusal {
  return refusal(
    'ambiguous_request',
    `the key "${key.slice(0, 100)}" is read as "${other}" by some servers; send "${other}" instead, or remove the key`,
  )
}

export function tooManyKeys(): Refusal {
  return refusal(
    'body_too_large',
    `an object of the JSON body, together with its parent objects, has more than ${SCAN_BOUNDS.openKeys} keys or ${SCAN_BOUNDS.openKeyChars} characters of keys; send fewer or shorter keys`,
  )
}

export function tooMuchKept(key: string): Refusal {
  return refusal(
    'body_too_large',
    `the fields of the JSON body that rules read, such as "${key}", have more than ${SCAN_BOUNDS.keptBytes} bytes, ${MAX_JSON_NODES} objects, lists and keys or ${MAX_JSON_COMMAS} elements; send a smaller body`,
  )
}

export function tooManyFound(): Refusal {
  return refusal(
    'body_too_large',
    `the JSON body contains more than ${FIND_BOUNDS.objects} tools, URLs and other fields that the provider acts on; send it in several requests`,
  )
}

export function nulInKey(): Refusal {
  return refusal('ambiguous_request', 'a key of the JSON body contains a NUL')
}
