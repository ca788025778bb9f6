import * as z from 'zod'

/** What the API server asks a webhook: `admission.k8s.io/v1`, as far as we look at it. */
export const AdmissionRequest = z.looseObject({
  uid: z.string().min(1),
  resource: z.looseObject({ group: z.string(), version: z.string(), resource: z.string() }),
  subResource: z.string().optional(),
  operation: z.enum(['CREATE', 'UPDATE', 'DELETE', 'CONNECT']),
  namespace: z.string().default(''),
  name: z.string().optional(),
  object: z.unknown().optional(),
  oldObject: z.unknown().optional(),
  dryRun: z.boolean().default(false),
})
export type AdmissionRequest = z.infer<typeof AdmissionRequest>

export const AdmissionReview = z.looseObject({
  apiVersion: z.literal('admission.k8s.io/v1'),
  kind: z.literal('AdmissionReview'),
  request: AdmissionRequest,
})

export type AdmissionResponse = {
  readonly allowed: boolean
  /** RFC 6902, not yet encoded. */
  readonly patch?: readonly object[]
  readonly warnings?: readonly string[]
  /** Shown to whoever asked; only with `allowed: false`. */
  readonly refused?: { readonly code: number; readonly message: string }
}

/** The API server shows no more than this of one warning, and of all together. */
const MAX_WARNING = 256
const MAX_WARNINGS = 16

/** The body of the answer. */
export function reviewBody(
  uid: string,
  { allowed, patch = [], warnings = [], refused }: AdmissionResponse,
): object {
  const shown = warnings.slice(0, MAX_WARNINGS).map((warning) => warning.slice(0, MAX_WARNING))
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: {
      uid,
      allowed,
      ...(patch.length > 0 && {
        patchType: 'JSONPatch',
        patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
      }),
      ...(shown.length > 0 && { warnings: shown }),
      ...(refused && { status: refused }),
    },
  }
}
