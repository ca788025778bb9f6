import { ChaperoneError } from '../../core/errors.ts'
import type { ChangeSetBody, PushBody, PushReply } from '../../core/wire/operator/operator.ts'
import type { ControlPlaneClient, ObjectName } from '../control/control-plane-client.ts'
import { isTimeout } from '../control/control-plane-http.ts'
import { TIGHTENING_ORDER } from './kind-order.ts'

/**
 * Milliseconds of debouncing: a batch is sent `quietMs` after its last object, and at most `longestMs` after its first.
 */
export type BatchTiming = { readonly quietMs: number; readonly longestMs: number }

/** Debounces changes of objects. The objects of one batch are one version of the configuration. */
export type Batch = {
  /** Adds an object to the current batch. Rejects with the error of the whole batch. */
  put(body: PushBody): Promise<PushReply>
  remove(object: ObjectName): Promise<void>
}

const TIMING: BatchTiming = { quietMs: 100, longestMs: 1_000 }

type Changes = {
  readonly puts: { readonly body: PushBody; readonly settled: PromiseWithResolvers<PushReply> }[]
  readonly removals: { readonly object: ObjectName; readonly settled: PromiseWithResolvers<void> }[]
}

export function createBatch(
  client: Pick<ControlPlaneClient, 'change'>,
  signal: AbortSignal,
  { quietMs, longestMs }: BatchTiming = TIMING,
): Batch {
  let pending: Changes = { puts: [], removals: [] }
  let quiet: NodeJS.Timeout | undefined
  let longest: NodeJS.Timeout | undefined

  function schedule(): void {
    clearTimeout(quiet)
    quiet = setTimeout(send, quietMs)
    longest ??= setTimeout(send, longestMs)
  }

  function send(): void {
    clearTimeout(quiet)
    clearTimeout(longest)
    longest = undefined
    const batch = pending
    pending = { puts: [], removals: [] }
    void sendBatch(client, batch, signal)
  }

  return {
    put(body) {
      const settled = Promise.withResolvers<PushReply>()
      pending.puts.push({ body, settled })
      schedule()
      return settled.promise
    },
    remove(object) {
      const settled = Promise.withResolvers<void>()
      pending.removals.push({ object, settled })
      schedule()
      return settled.promise
    },
  }
}

async function sendBatch(
  client: Pick<ControlPlaneClient, 'change'>,
  batch: Changes,
  signal: AbortSignal,
): Promise<void> {
  try {
    await sendTogether(client, batch, signal)
  } catch (error) {
    if (isTimeout(error)) return sendByNamespace(client, batch, { signal, error })
    if (batch.puts.length + batch.removals.length === 1 || !isRefusal(error)) return reject(batch, error)
    for (const single of tighteningFirst(batch))
      await sendTogether(client, single, signal).catch((cause: unknown) => reject(single, cause))
  }
}

/**
 * Sends a batch again after a timeout, namespace by namespace. Each namespace becomes one version. After another
 * timeout the remaining objects are rejected, because the control plane is slow; the caller retries.
 */
async function sendByNamespace(
  client: Pick<ControlPlaneClient, 'change'>,
  batch: Changes,
  { signal, error }: { readonly signal: AbortSignal; readonly error: unknown },
): Promise<void> {
  const parts = byNamespace(batch)
  if (parts.length === 1) return reject(batch, error)
  let cause: unknown = null
  for (const part of parts) {
    if (isTimeout(cause)) reject(part, cause)
    else cause = await failureOf(client, part, signal)
  }
}

/**
 * Sends one part of a batch. On failure, rejects the promises of the objects and returns the error. On success, returns
 * null.
 */
async function failureOf(
  client: Pick<ControlPlaneClient, 'change'>,
  part: Changes,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    await sendTogether(client, part, signal)
    return null
  } catch (cause) {
    reject(part, cause)
    return cause
  }
}

/**
 * Splits a batch by namespace and orders the parts. Parts with only policies come first, because policies make
 * decisions stricter, and policies of the platform team apply to every namespace. The next are parts with policies and
 * other kinds, then parts with Gateways, then the other parts. Parts that remove policies come last.
 */
function byNamespace({ puts, removals }: Changes): Changes[] {
  const parts = new Map<string, Changes>()
  const partOf = (namespace: string) => {
    const part = parts.get(namespace) ?? { puts: [], removals: [] }
    parts.set(namespace, part)
    return part
  }
  for (const put of puts) partOf(put.body.resource.metadata.namespace ?? 'default').puts.push(put)
  for (const removal of removals) partOf(removal.object.namespace).removals.push(removal)
  const rank = ({ puts: coming, removals: going }: Changes) => {
    if (going.some(({ object }) => object.kind === 'Policy')) return 4
    const kinds = new Set(coming.map(({ body }) => body.resource.kind))
    if (kinds.has('Policy')) return kinds.size === 1 ? 0 : 1
    return kinds.has('Gateway') ? 2 : 3
  }
  return [...parts.values()].flatMap(splitPolicies).sort((a, b) => rank(a) - rank(b))
}

/**
 * Splits a part that adds some policies and removes others. Added policies make decisions stricter and are sent early.
 * Removals make decisions less strict and are sent late. In a part with objects of other kinds, changed policies are
 * not sent early: a changed policy may be less strict, and a Permission of the same part may compensate for this.
 */
function splitPolicies(part: Changes): Changes[] {
  const { puts, removals } = part
  if (!removals.some(({ object }) => object.kind === 'Policy')) return [part]
  const kinds = [...puts.map(({ body }) => body.resource.kind), ...removals.map(({ object }) => object.kind)]
  const isPoliciesOnly = kinds.every((kind) => kind === 'Policy')
  const isEarly = ({ body }: Changes['puts'][number]) =>
    body.resource.kind === 'Policy' && (isPoliciesOnly || body.generation === 1)
  const early = puts.filter(isEarly)
  if (early.length === 0) return [part]
  return [
    { puts: early, removals: [] },
    { puts: puts.filter((put) => !isEarly(put)), removals },
  ]
}

async function sendTogether(
  client: Pick<ControlPlaneClient, 'change'>,
  { puts, removals }: Changes,
  signal: AbortSignal,
): Promise<void> {
  const set: ChangeSetBody = {
    source: 'kubernetes',
    objects: puts.map(({ body }) => body),
    removed: removals.map(({ object }) => object),
  }
  const { replies } = await client.change(set, signal)
  puts.forEach(({ settled }, index) => {
    const reply = replies[index]
    if (reply === undefined)
      settled.reject(
        new Error('The operator sent several objects to the control plane, but the reply lacks this object.'),
      )
    else settled.resolve(reply)
  })
  for (const { settled } of removals) settled.resolve()
}

function reject({ puts, removals }: Changes, error: unknown): void {
  for (const { settled } of [...puts, ...removals]) settled.reject(error)
}

/**
 * Reports whether the control plane refused the change set, or failed on it (500). The objects of such a set
 * are sent one by one, so that an invalid object does not block the other objects.
 */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof ChaperoneError)) return false
  return error.code === 'validation' || error.options.extra?.['status'] === 500
}

/**
 * Returns the changes one by one. Changes that can make decisions stricter come first: permissions are removed first
 * and added last; policies are added before connectors and permissions, and removed last.
 */
function tighteningFirst({ puts, removals }: Changes): Changes[] {
  const order: readonly string[] = TIGHTENING_ORDER
  const rank = (kind: string) => order.indexOf(kind)
  const coming = [...puts].sort((a, b) => rank(a.body.resource.kind) - rank(b.body.resource.kind))
  const going = [...removals].sort((a, b) => rank(b.object.kind) - rank(a.object.kind))
  const isLast = ({ object }: Changes['removals'][number]) =>
    object.kind === 'Policy' || object.kind === 'Gateway'
  return [
    ...going.filter((each) => !isLast(each)).map((each) => ({ puts: [], removals: [each] })),
    ...coming.map((each) => ({ puts: [each], removals: [] })),
    ...going.filter(isLast).map((each) => ({ puts: [], removals: [each] })),
  ]
}
