import type { Action } from '../../../action/action.ts'
import { type Refusal, refusal } from '../../../request/canonical.ts'
import type { BodyView, CatalogueRow, ConnectorConfig } from '../../connector.ts'
import { namedAction } from '../../named-action.ts'
import { isNothing, type PushCommand, type PushHead, readPushHead } from './commands.ts'
import { notFastForward, type PushProof } from './fast-forward.ts'
import { readCommits } from './pack.ts'

/** How much of a push is read to see that nothing is lost: its commands and, as git writes them first, its commits. */
export const PUSH_HEAD_BYTES = 1024 * 1024

export const FORCE_PUSH: CatalogueRow = {
  type: 'codehost.git.force_push',
  effect: 'write',
  risk: 'high',
  hints: { irreversible: true },
}

type Head = Extract<BodyView, { kind: 'head' }>
type Given = { readonly push: Action; readonly config: ConnectorConfig }

/** True once these bytes tell what the push does, or can never tell. */
export function isPushHead(bytes: Uint8Array): boolean {
  const head = readPushHead(bytes)
  if (head.kind === 'more') return false
  return head.kind === 'malformed' || !head.commands.some(isUpdate)
}

/**
 * One action for each reference: `branch.create` and `branch.delete` as when it is done by REST, `git.push` where the
 * commits that are sent lead back to what stood there, else `git.force_push`: what is not proved to lose nothing is
 * taken to lose something. `push` is what the request line alone says.
 */
export function pushActions(body: Head, push: Action, config: ConnectorConfig): readonly Action[] | Refusal {
  const head = readPushHead(body.bytes)
  if (head.kind !== 'commands') {
    const why = head.kind === 'more' ? 'its list of references does not end' : head.detail
    return refusal('malformed_request', `the push cannot be read: ${why}`)
  }
  // An empty push only asks whether one may.
  if (head.commands.length === 0) return [push]
  const proof = head.commands.some(isUpdate) ? proofOf(body, head) : null
  return head.commands.map((command) => actionOf(command, proof, { push, config }))
}

function proofOf(body: Head, { packAt, shallow }: Extract<PushHead, { kind: 'commands' }>): PushProof {
  return { commits: readCommits(body.bytes.subarray(packAt), body.inflate, body.objectId), shallow }
}

function actionOf(command: PushCommand, proof: PushProof | null, { push, config }: Given): Action {
  const { ref, before, after } = command
  const { target, account } = push.resource
  const parameters = { ...push.parameters, ref, sha: after, before }
  const parts = { connector: 'codehost', effect: 'write', target, account, parameters } as const
  if (isNothing(after)) {
    const hints = { irreversible: true }
    return namedAction({ ...parts, type: 'codehost.branch.delete', risk: 'high', hints }, config)
  }
  if (isNothing(before)) return namedAction({ ...parts, type: 'codehost.branch.create', risk: 'low' }, config)
  const nameReason = proof === null ? null : notFastForward(command, proof)
  if (nameReason === null) return namedAction({ ...parts, type: 'codehost.git.push', risk: 'medium' }, config)
  const { type, risk, hints } = FORCE_PUSH
  return { ...namedAction({ ...parts, type, risk, hints }, config), nameReason }
}

function isUpdate({ before, after }: PushCommand): boolean {
  return !isNothing(before) && !isNothing(after)
}
