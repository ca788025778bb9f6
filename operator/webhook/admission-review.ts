import * as z from 'zod'

/** The fields of an AdmissionRequest (`admission.k8s.io/v1`) that the webhook uses. */
export const AdmissionRequest = z.looseObject({
  uid: z.string().min(1),
  resource: z.looseObject({ group: z.string(), version: z.string(), resource: z.string() }),
  subResource: z.string().optional(),
  operation: z.enum(['CREATE', 'UPDATE', 'DELETE', 'CONNECT']),
  namespace: z.string().default(''),
  name: z.string().optional(),
  userInfo: z.looseObject({ username: z.string().default('') }).optional(),
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
  /** JSON Patch (RFC 6902), before base64 encoding. */
  readonly patch?: readonly object[]
  readonly warnings?: readonly string[]
  /** Status code and message for the client; only with `allowed: false`. */
  readonly refused?: { readonly code: number; readonly message: string }
}

/** Limits of the API server: characters of a warning, and number of warnings. */
const MAX_WARNING = 256
const MAX_WARNINGS = 16

/** Builds the AdmissionReview of the response. */
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
