import * as z from 'zod'
import { InForce, ManifestProblem } from './operator/operator.ts'
import { ObjectOrigin } from './operator/origin.ts'

const Kind = z.enum(['Gateway', 'Connector', 'Permission', 'Policy'])
const Source = z.enum(['kubernetes', 'file'])

/** Key of an object in the paths of the operator's API. */
export const ObjectParams = z.object({
  kind: Kind,
  namespace: z.string().min(1).max(253),
  name: z.string().min(1).max(253),
})
export const RemoveObjectReply = z.object({ removed: z.boolean() })

/** All problems of the files of one source. They replace the source's earlier problems. */
export const ProblemsBody = z.strictObject({
  source: Source,
  problems: z.array(ManifestProblem).max(10_000),
})

export const ManifestObjectView = z.object({
  kind: z.string(),
  namespace: z.string(),
  name: z.string(),
  source: Source,
  managed_by: z.string(),
  origin: ObjectOrigin,
  generation: z.int(),
  accepted: z.boolean(),
  in_force: InForce,
  reasons: z.array(z.string()),
  warnings: z.array(z.string()),
  /** Lines in the manifest file: one for each item of `reasons`. Null for objects of a cluster. */
  reason_lines: z.array(z.int().nullable()),
  /** Lines in the manifest file: one for each item of `warnings`. Null for objects of a cluster. */
  warning_lines: z.array(z.int().nullable()),
  /** Time at which the control plane validated the object, RFC 3339 with microseconds. */
  judged_at: z.string(),
})

export const ManifestsReply = z.object({
  objects: z.array(ManifestObjectView),
  problems: z.array(ManifestProblem),
  config_version: z.int(),
  /**
   * Highest configuration version that all processes of a gateway have applied, by the name of each running gateway.
   * The value is null if a process of the gateway has applied none.
   */
  in_force: z.record(z.string(), z.int().nullable()),
})

export type ManifestObjectView = z.infer<typeof ManifestObjectView>
export type ManifestsReply = z.infer<typeof ManifestsReply>
