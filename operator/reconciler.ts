import type { Logger } from 'pino'
import type { DesiredBody, ManifestProblem } from '../core/wire/operator.ts'
import type { DesiredClient } from './desired-client.ts'
import { desiredBodies, type ManifestSet, sweepBody } from './manifest-set.ts'
import type { ManifestObject } from './manifests.ts'

/** `applied` objects are in force as written; `problems` are files that are not good and objects that were refused. */
export type PassResult = { readonly applied: number; readonly problems: readonly ManifestProblem[] }

export type Reconciler = {
  /** Makes the control plane hold what the set says. Rejects when it cannot be reached; calling again is safe. */
  apply(set: ManifestSet): Promise<PassResult>
}

type Item = { readonly object: ManifestObject; readonly body: DesiredBody }
type Refused = { readonly item: Item; readonly reasons: readonly string[] }

export function createReconciler(deps: { client: DesiredClient; log: Logger }): Reconciler {
  const { client, log } = deps
  /** Key of an object -> what was last accepted, so that an unchanged object costs no call. */
  const accepted = new Map<string, string>()
  let publishedProblems: string | undefined

  async function publish(problems: readonly ManifestProblem[]): Promise<void> {
    const text = JSON.stringify(problems)
    if (text === publishedProblems) return
    await client.problems(problems)
    publishedProblems = text
  }

  async function sweep(items: readonly Item[]): Promise<void> {
    const { removed, missing } = await client.sweep(sweepBody(items))
    if (removed > 0) log.info({ removed }, 'manifest objects removed')
    for (const { kind, namespace, name } of missing) accepted.delete(`${kind}/${namespace}/${name}`)
    const present = new Set(items.map((item) => item.object.key))
    for (const key of accepted.keys()) if (!present.has(key)) accepted.delete(key)
  }

  async function put(item: Item): Promise<Refused | null> {
    const { object, body } = item
    const reply = await client.put(body)
    for (const warning of reply.warnings) log.warn(placeOf(object), `manifest warning: ${warning}`)
    if (!reply.accepted) {
      accepted.delete(object.key)
      return { item, reasons: reply.reasons }
    }
    accepted.set(object.key, JSON.stringify(body))
    log.info({ ...placeOf(object), version: reply.version }, 'manifest object applied')
    return null
  }

  return {
    async apply(set) {
      // Problems first: the sweep spares the objects of files that are broken right now.
      await publish(set.problems)
      const items = desiredBodies(set)
      await sweep(items)
      const changed = items.filter(({ object, body }) => accepted.get(object.key) !== JSON.stringify(body))
      const refused = await putAll(changed, put)
      const problems = [...set.problems, ...refused.flatMap(refusalProblems)]
      return { applied: items.length - refused.length, problems }
    },
  }
}

/** Refused objects are tried again as long as others succeed: one may wait for another (a domain that moves, say). */
async function putAll(
  items: readonly Item[],
  put: (item: Item) => Promise<Refused | null>,
): Promise<Refused[]> {
  let pending = items
  for (;;) {
    const refused: Refused[] = []
    for (const item of pending) {
      const outcome = await put(item)
      if (outcome !== null) refused.push(outcome)
    }
    if (refused.length === 0 || refused.length === pending.length) return refused
    pending = refused.map((refusal) => refusal.item)
  }
}

function refusalProblems({ item, reasons }: Refused): ManifestProblem[] {
  const { file, line, key } = item.object
  return reasons.map((reason) => ({ file, line, message: `${key} was refused: ${reason}` }))
}

function placeOf(object: ManifestObject): Record<string, unknown> {
  return { object: object.key, file: object.file, line: object.line }
}
