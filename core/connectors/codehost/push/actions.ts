import type { Action } from '../../../action/action.ts'
import type { EffectClass } from '../../../action/effect-class.ts'
import { type CanonicalRequest, isRefusal, refusal } from '../../../request/canonical.ts'
import type { Sliced } from '../../../sliced.ts'
import type { BodyView, CatalogueRow, Classification, ConnectorConfig, Named } from '../../connector.ts'
import type { HeadReader } from '../../fields/body-readers.ts'
import { effectOfMethod, namedAction } from '../../named-action.ts'
import { withPossibleExecution } from '../commit-origin.ts'
import { REFERENCE_ROWS, withReferenceActions } from '../references.ts'
import { isNothing, type PushCommand, readPushHead, scanCommands } from './commands.ts'
import { newProof, notFastForward, type PushProof } from './fast-forward.ts'
import { FORCE_PUSH } from './force-push.ts'
import { type Commits, type PackDepth, type PackTools, readCommits } from './pack.ts'
import { isInPack, type PackTrees, workflowReason } from './trees.ts'

/**
 * Maximum number of bytes that the gateway reads from a push: its commands, then its commits, which git sends first.
 * The commits prove that an update is a fast-forward.
 */
export const PUSH_HEAD_BYTES = 1024 * 1024

export const PUSH = 'codehost.git.push'

const CREATE: CatalogueRow = { type: 'codehost.branch.create', effect: 'write', risk: 'low' }
const DELETE: CatalogueRow = {
  type: 'codehost.branch.delete',
  effect: 'write',
  risk: 'high',
  hints: { irreversible: true },
}

const WORKFLOW_EFFECTS: readonly EffectClass[] = ['code_execution']

type Head = Extract<BodyView, { kind: 'head' }>
type Given = { readonly push: Action; readonly config: ConnectorConfig }

/** Returns the reader for the beginning of a push. `push`: the action that the request line alone determines. */
export function pushReader(push: Action, config: ConnectorConfig): HeadReader {
  return {
    maxBytes: PUSH_HEAD_BYTES,
    effectsOfTrees: WORKFLOW_EFFECTS,
    announced: () => announcedPush(push, config),
    scan: scanPush,
    read: readPush,
  }
}

/**
 * Returns the scan of an arriving push (see `HeadReader.scan`). If the pack is needed, the scan requests all bytes up
 * to `maxBytes`, because the pack follows the commands. Otherwise the scan ends after the commands.
 */
function scanPush(depth: PackDepth): (bytes: Uint8Array) => number {
  const commandsEnd = scanCommands()
  return (bytes) => {
    const needed = commandsEnd(bytes)
    if (needed > bytes.length) return needed
    const head = readPushHead(bytes)
    return head.kind === 'commands' && head.commands.some(needsPack(depth)) ? Number.POSITIVE_INFINITY : 0
  }
}

function* readPush(bytes: Uint8Array, tools: PackTools, depth: PackDepth): Sliced<Commits | null> {
  const head = readPushHead(bytes)
  if (head.kind !== 'commands' || !head.commands.some(needsPack(depth))) return null
  return yield* readCommits(bytes.subarray(head.packAt), tools, depth)
}

/**
 * Returns a function that reports whether a push command requires the pack. An update requires the pack, because the
 * commits in the pack must prove that the update loses no commit. With `depth: 'trees'`, every command that creates or
 * updates a reference requires the pack.
 */
function needsPack(depth: PackDepth): (command: PushCommand) => boolean {
  return depth === 'trees' ? ({ after }) => !isNothing(after) : isUpdate
}

/**
 * Returns all actions that a push may perform as long as its commands are unread. `push`: the action that the request
 * line alone determines.
 */
function possiblePushes(push: Action, config: ConnectorConfig): readonly Action[] {
  const { target, account } = push.resource
  const { parameters } = push
  const parts = { connector: 'codehost', effect: 'write', target, account, parameters } as const
  const rows = [FORCE_PUSH, CREATE, ...REFERENCE_ROWS, DELETE]
  return [push, ...rows.map((row) => namedAction({ ...row, ...parts }, config))]
}

/**
 * Returns one action for each reference of a push. A new reference is `branch.create` (with `tag.create` or
 * `ref.create` outside refs/heads), a deleted one `branch.delete`, as over REST. An update is `git.push` if the sent
 * commits prove that the old commit is an ancestor of the new one, else `git.force_push`, because the update may lose
 * commits. A push without references only announces a later push.
 */
export function namePush(body: Head, push: Action, config: ConnectorConfig): Classification {
  const head = readPushHead(body.bytes)
  if (head.kind !== 'commands') {
    const why = head.kind === 'more' ? 'the list of references is truncated' : head.detail
    return refusal('malformed_request', `the push cannot be read: ${why}`)
  }
  if (head.commands.length === 0) return announcedPush(push, config)
  const proof = body.commits === null ? null : newProof(body.commits, head.shallow)
  const tips = head.commands.map(({ after }) => after).filter((id) => !isNothing(id))
  const trees = body.commits?.trees ?? null
  const reason = trees === null ? null : workflowReason(trees, tips)
  const actions = head.commands.flatMap((command) => {
    const action = actionOf(command, proof, { push, config })
    return withReferenceActions(withEffects(action, command, { trees, reason }))
  })
  return { kind: 'actions', actions }
}

type SentTrees = { readonly trees: PackTrees | null; readonly reason: string | null }

/**
 * Adds `code_execution` to a command that may bring workflows (`reason`). A command that moves a reference to a commit
 * that the pack lacks has it as a possible class, because the commit may be that of a fork.
 */
function withEffects(action: Action, { after }: PushCommand, { trees, reason }: SentTrees): Action {
  if (trees === null || isNothing(after)) return action
  if (reason !== null) return withWorkflows(action, reason)
  return isInPack(after, trees) ? action : withPossibleExecution(action)
}

function withWorkflows(action: Action, reason: string): Action {
  const nameReason = action.nameReason === undefined ? reason : `${action.nameReason} ${reason}`
  return { ...action, effects: WORKFLOW_EFFECTS, nameReason }
}

/**
 * Returns the classification of a request that announces a push and changes nothing: the discovery request, and the
 * empty push that git sends before a large one.
 */
function announcedPush(push: Action, config: ConnectorConfig): Named {
  return { kind: 'actions', actions: [push], announces: possiblePushes(push, config) }
}

function actionOf(command: PushCommand, proof: PushProof | null, { push, config }: Given): Action {
  const { ref, before, after } = command
  const { target, account } = push.resource
  const parameters = { ...push.parameters, ref, sha: after, before }
  const parts = { connector: 'codehost', effect: 'write', target, account, parameters } as const
  if (isNothing(after)) return namedAction({ ...DELETE, ...parts }, config)
  if (isNothing(before)) return namedAction({ ...CREATE, ...parts }, config)
  const nameReason = proof === null ? NOT_READ : notFastForward(command, proof)
  if (nameReason === null) return namedAction({ ...parts, type: 'codehost.git.push', risk: 'medium' }, config)
  return { ...namedAction({ ...FORCE_PUSH, ...parts }, config), nameReason }
}

const NOT_READ = 'The push counts as forced, because the gateway did not read its commits.'

function isUpdate({ before, after }: PushCommand): boolean {
  return !isNothing(before) && !isNothing(after)
}

/**
 * Adds to a classification the actions that a push may perform. A discovery request only announces these actions. If a
 * push is one of several candidates of a request, all actions that it may perform become candidates in its place.
 */
export function withPushes(
  named: Classification,
  { method }: CanonicalRequest,
  config: ConnectorConfig,
): Classification {
  if (isRefusal(named)) return named
  if (named.kind === 'candidates') {
    const candidates = named.candidates.flatMap((action) =>
      action.type === PUSH ? possiblePushes(action, config) : [action],
    )
    return { ...named, candidates }
  }
  const [push] = named.actions
  const isDiscovery = push?.type === PUSH && effectOfMethod(method) === 'read'
  return isDiscovery ? announcedPush(push, config) : named
}
