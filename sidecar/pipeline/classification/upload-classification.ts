import { classify } from '../../../core/connectors/classify.ts'
import type { Classification } from '../../../core/connectors/connector.ts'
import type { UploadFacts, UploadReader } from '../../../core/connectors/fields/body-readers.ts'
import { isPlainJson } from '../../../core/request/body/body.ts'
import { type CanonicalRequest, isRefusal, type Refusal } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import type { Governed } from '../phases.ts'

/**
 * Returns the reader of an uploaded file. Returns null for JSON: providers reject JSON in place of a file, and policies
 * read a JSON body as JSON.
 */
export function uploadReaderOf({ connector, request, body }: Governed): UploadReader | null {
  const hasFile = !body.isEmpty && !isPlainJson(request.body)
  return hasFile ? (connector.connector.readUpload?.(request, connector.config) ?? null) : null
}

/** Returns the Content-Type of an upload; empty for an encoded body, which is then not readable. */
export function uploadType({ body, rawHeaders }: CanonicalRequest): string {
  return (body.encoding === undefined ? headerValue(rawHeaders, 'content-type') : undefined) ?? ''
}

/**
 * Classifies an upload by what was read of it. `hidden`: the refusal of an upload without readable fields; absent if no
 * policy needs facts of the body.
 */
export function classifyUpload(
  { connector, request }: Governed,
  facts: UploadFacts | Refusal,
  hidden: Refusal | undefined,
): Classification {
  if (isRefusal(facts)) return facts
  const { acts, fields } = facts
  if (fields === undefined && hidden !== undefined) return hidden
  return classify(connector, request, { kind: 'opaque', acts, ...(fields === undefined ? {} : { fields }) })
}
