import * as z from 'zod'
import { ManifestResource } from '../crd/schemas.ts'

/**
 * Operator (cluster or manifests folder) -> control plane.
 * `PUT /api/operator/desired/{kind}/{namespace}/{name}` one object; `DELETE` the same path; `POST /api/operator/sweep`
 * names everything that should exist, so that what is missing on either side comes out. Bearer: operator token.
 */
export const OPERATOR_PATHS = { desired: '/api/operator/desired', sweep: '/api/operator/sweep' } as const

export const DesiredBody = z.object({
  uid: z.string(),
  generation: z.number().int(),
  source: z.enum(['kubernetes', 'file']),
  /** Shown to whoever tries to edit the row elsewhere, e.g. `10-codehost.yaml` or `kubernetes Policy team/prod`. */
  managed_by: z.string(),
  resource: ManifestResource,
  /** The value of `spec.credential.secretRef` of a Connector, resolved; null when the Secret or key is missing. */
  credential: z.string().nullable().optional(),
})

export const DesiredReply = z.object({
  accepted: z.boolean(),
  /** Full sentences: what is wrong and what to change. */
  reasons: z.array(z.string()),
  /** Warnings that do not prevent acceptance, e.g. a missing credential. */
  warnings: z.array(z.string()).default([]),
  version: z.number().int(),
})

export const SweepBody = z.object({
  source: z.enum(['kubernetes', 'file']),
  present: z.array(z.object({ kind: z.string(), namespace: z.string(), name: z.string(), uid: z.string() })),
})
export const SweepReply = z.object({
  removed: z.number().int(),
  missing: z.array(z.object({ kind: z.string(), namespace: z.string(), name: z.string() })),
})

/** Published so that a person sees it: what the folder watcher refused, by file and line. */
export const ManifestProblem = z.object({
  file: z.string(),
  line: z.number().int().nullable(),
  message: z.string(),
})

export type DesiredBody = z.infer<typeof DesiredBody>
export type DesiredReply = z.infer<typeof DesiredReply>
export type SweepBody = z.infer<typeof SweepBody>
export type SweepReply = z.infer<typeof SweepReply>
export type ManifestProblem = z.infer<typeof ManifestProblem>
