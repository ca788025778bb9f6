import type { Logger } from 'pino'
import { IN_FORCE_TEXT, type ManifestProblem, type PushReply } from '../../core/wire/operator.ts'
import type { DesiredClient } from '../control/control-plane-client.ts'
import { desiredBodies, type FolderItem, type ManifestSet, presentObjects } from './manifest-set.ts'

/** `applied` objects are in force as written; `problems` are files that are not good and objects that were refused. */
export type PassResult = { readonly applied: number; readonly problems: readonly ManifestProblem[] }

export type Reconciler = {
  /** Makes the control plane hold what the set says. Rejects when it cannot be reached; calling again is safe. */
  apply(set: ManifestSet): Promise<PassResult>
}

type Refused = { readonly item: FolderItem; readonly reply: PushReply }

export function createReconciler(deps: {
  client: Pick<DesiredClient, 'change' | 'put'>
  log: Logger
}): Reconciler {
  const { client, log } = deps
  /** Key of an object -> what was last accepted, so that an unchanged object costs no call. */
  const accepted = new Map<string, string>()

  function take({ object, body }: FolderItem, reply: PushReply): Refused[] {
    for (const warning of reply.warnings) log.warn(placeOf(object), `manifest warning: ${warning}`)
    if (!reply.accepted) {
      accepted.delete(object.key)
      const text = `manifest object refused: ${object.key}; ${IN_FORCE_TEXT[reply.in_force]}`
      log.error({ ...placeOf(object), in_force: reply.in_force }, text)
      return [{ item: { object, body }, reply }]
    }
    accepted.set(object.key, JSON.stringify(body))
    log.info({ ...placeOf(object), version: reply.version }, 'manifest object applied')
    return []
  }

  /** One change set: what is not yet accepted, and all that there is. */
  async function change(set: ManifestSet, items: readonly FolderItem[]) {
    const changed = items.filter(({ object, body }) => accepted.get(object.key) !== JSON.stringify(body))
    const objects = changed.map(({ body }) => body)
    const present = presentObjects(items)
    const { removed, missing, replies } = await client
      .change({ source: 'file', objects, removed: [], present, problems: [...set.problems] })
      .catch((error: unknown) => stopAnyway(client, changed, error))
    if (removed > 0) log.info({ removed }, 'manifest objects removed')
    const refused = changed.flatMap((item, index) => {
      const reply = replies[index]
      return reply === undefined ? [] : take(item, reply)
    })
    const known = new Set(changed.map(({ object }) => object.key))
    const lost = missing.filter((each) => !known.has(keyOf(each)))
    for (const each of lost) accepted.delete(keyOf(each))
    return { refused, isComplete: lost.length === 0 }
  }

  return {
    async apply(set) {
      const items = desiredBodies(set)
      const present = new Set(items.map(({ object }) => object.key))
      for (const key of accepted.keys()) if (!present.has(key)) accepted.delete(key)
      const first = await change(set, items)
      // The control plane had lost objects: what is refused is refused again.
      const { refused } = first.isComplete ? first : await change(set, items)
      return {
        applied: items.length - refused.length,
        problems: [...set.problems, ...refused.flatMap(refusalProblems)],
      }
    },
  }
}

/** A kill switch never waits for what stands beside it: where the set fails, its Gateway is handed over alone. */
async function stopAnyway(
  client: Pick<DesiredClient, 'put'>,
  items: readonly FolderItem[],
  cause: unknown,
): Promise<never> {
  for (const { object, body } of items) {
    if (object.kind === 'Gateway' && isStopped(body.resource.spec))
      await client.put(body).catch(() => undefined)
  }
  throw cause
}

function isStopped(spec: unknown): boolean {
  return (spec as { killSwitch?: { active?: unknown } } | undefined)?.killSwitch?.active === true
}

/** What is wrong with a file is said already; here what the control plane says of an object, by the line of its field. */
function refusalProblems({ item: { object, body }, reply }: Refused): ManifestProblem[] {
  if (body.problems !== undefined) return []
  const { file, key } = object
  return reply.reasons.map((reason) => {
    const path = /^(spec(?:\.\w+)+): /.exec(reason)?.[1] ?? ''
    return { file, line: object.lineOf(path), message: `${key} was refused: ${reason}` }
  })
}

function keyOf({ kind, namespace, name }: { kind: string; namespace: string; name: string }): string {
  return `${kind}/${namespace}/${name}`
}

function placeOf(object: FolderItem['object']): Record<string, unknown> {
  return { object: object.key, file: object.file, line: object.line }
}
