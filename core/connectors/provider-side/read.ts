import type { Action } from '../../action/action.ts'
import { type Refusal, refusal } from '../../request/canonical.ts'
import { ANY_KEY, CONTAINER, type FoundMembers } from '../../request/json/member-finder.ts'
import { snakeCase } from '../llm/resource-bodies.ts'
import type { ProviderAct, ProviderKind } from './kinds.ts'
import { calledHost, isInline, isPhoneNumber, listedHost, reachedHost, usualPort } from './reached-host.ts'
import type { CompiledTable, FieldRow, ProviderTable, ToolRow } from './table.ts'

/**
 * Maximum number of provider-side acts of a request. All acts of the kind `hosted_approval.answer` (answers to approval
 * requests of the provider) together count as one act.
 */
const MAX_PROVIDER_ACTS = 64
/**
 * Maximum number of acts of the kind `hosted_approval.answer`. The maximum is higher, because a conversation that the
 * caller sends in full repeats its old answers.
 */
const MAX_ANSWERS = 256
const NO_ACTS: readonly ProviderAct[] = []
const NO_ROWS: readonly FieldRow[] = []
const NO_FOUND: readonly FoundMembers[] = []

/**
 * Returns the acts that the provider performs because of the request's fields and operation, each once. An act without
 * a target is omitted if another act of its kind has a target. Acts of the kind `hosted_approval.answer` are never
 * omitted, because each answers a different approval request of the provider. They come last, so that the shortened
 * list of a record does not hide other acts. Refuses a request with more than `MAX_PROVIDER_ACTS` or `MAX_ANSWERS`.
 */
export function readProviderActs(
  table: CompiledTable,
  actions: readonly Action[],
  { found = NO_FOUND, uploaded = NO_ACTS }: Read,
): readonly ProviderAct[] | Refusal {
  const each: ProviderAct[] = []
  for (const action of actions) addOperationActs(each, table, action)
  for (const one of found) for (const act of foundActs(table, one)) each.push(act)
  if (each.length + uploaded.length === 0) return NO_ACTS
  const acts = new Map<string, ProviderAct>()
  addActs(acts, each)
  addActs(acts, uploaded)
  const named = new Set(
    [...acts.values()].flatMap(({ kind, target }) => (target === undefined ? [] : [kind])),
  )
  const { answers = [], others = [] } = Object.groupBy(acts.values(), ({ kind }) =>
    kind === ANSWER ? 'answers' : 'others',
  )
  const all = others.filter(({ kind, target }) => target !== undefined || !named.has(kind))
  if (all.length + Math.min(1, answers.length) <= MAX_PROVIDER_ACTS && answers.length <= MAX_ANSWERS)
    return [...all, ...answers]
  return tooMany(all.length, answers.length)
}

const ANSWER: ProviderKind = 'hosted_approval.answer'

function tooMany(others: number, answers: number): Refusal {
  return refusal(
    'body_too_large',
    `the request has ${others} tools, fetches and other acts for the provider, and ${answers} answers to questions of the provider; send at most ${MAX_PROVIDER_ACTS} acts and ${MAX_ANSWERS} answers in one request`,
  )
}

/** Sources of the provider's acts: members that a scan of the body found, and acts read from an uploaded file. */
type Read = {
  readonly found?: readonly FoundMembers[] | undefined
  readonly uploaded?: readonly ProviderAct[] | undefined
}

/** Adds the provider-side acts whose kind, target and host are not in `acts` yet. */
export function addActs(acts: Map<string, ProviderAct>, further: readonly ProviderAct[]): void {
  for (const act of further) if (!acts.has(keyOf(act))) acts.set(keyOf(act), act)
}

function keyOf({ kind, target, reaches }: ProviderAct): string {
  const place = reaches === null || typeof reaches === 'string' ? reaches : `${reaches.host}:${reaches.port}`
  return JSON.stringify([kind, target, place])
}

function addOperationActs(into: ProviderAct[], table: CompiledTable, action: Action): void {
  const { type, resource } = action
  const row = table.operations.get(type)
  if (row === undefined) return
  const target = resource.target ?? parameterOf(action, row.parameter)
  for (const kind of row.kinds) into.push({ kind, target, reaches: null, field: type })
}

function parameterOf({ parameters }: Action, name: string | null): string | undefined {
  const value = name === null ? undefined : parameters[name]
  return typeof value === 'string' && value !== '' ? value.slice(0, MAX_SHOWN) : undefined
}

/** Returns the provider-side acts that members of one JSON object cause. `found`: members that the scan found. */
export function foundActs(table: CompiledTable, found: FoundMembers): readonly ProviderAct[] {
  const { members, place } = found
  let fields: readonly ProviderAct[] = NO_ACTS
  for (const name of members.keys()) {
    for (const row of table.fieldsByName.get(name) ?? NO_ROWS) {
      if (isAt(row, place))
        fields = [...fields, ...fieldActs(table, row, { value: members.get(name), place, members })]
    }
  }
  return isTool(table, place)
    ? [...fields, ...toolActs(table, found, new Set(fields.map(({ kind }) => kind)))]
    : fields
}

export function isTool({ toolPlaces }: CompiledTable, place: readonly string[]): boolean {
  for (const end of toolPlaces) if (endsWith(place, end)) return true
  return false
}

function isAt({ parents, isRooted }: FieldRow, place: readonly string[]): boolean {
  return (!isRooted || place.length === parents.length) && endsWith(place, parents)
}

export function endsWith(place: readonly string[], end: readonly string[]): boolean {
  const from = place.length - end.length
  if (from < 0) return false
  for (let at = 0; at < end.length; at++)
    if (end[at] !== ANY_KEY && place[from + at] !== end[at]) return false
  return true
}

type At = Pick<FoundMembers, 'place' | 'members'> & { readonly value: unknown }

function fieldActs(
  { table }: CompiledTable,
  row: FieldRow,
  { value, place, members }: At,
): readonly ProviderAct[] {
  const values = (Array.isArray(value) ? value : [value]).filter(
    (one) => counts(row, one) && !isOwnFile(table, row, one),
  )
  if (values.length === 0) return NO_ACTS
  const field = [...place, row.name].join('.').slice(0, MAX_SHOWN)
  return values.flatMap((one) => {
    const read = row.member === null ? targetOf(row, one) : targetOfMember(members.get(row.member))
    return read === null ? [] : row.kinds.map((kind) => ({ kind, ...read, field }))
  })
}

/**
 * Reports whether a URL or a host name in the field names a file at the provider itself, so that the provider fetches
 * nothing from other hosts. False for a field with the target `unread`, which names a file of requests: these requests
 * may cause acts.
 */
function isOwnFile({ ownFile }: ProviderTable, { target }: FieldRow, value: unknown): boolean {
  const isUrl = target === 'host' || target === 'name'
  return isUrl && typeof value === 'string' && ownFile?.test(value) === true
}

function counts({ value: wanted, target }: FieldRow, value: unknown): boolean {
  if (value === null || value === '' || value === false) return false
  if (wanted === null) return target === 'none' || value !== CONTAINER
  const text = String(value)
  if (wanted.by === 'contains') return text.includes(wanted.text)
  if (wanted.by === 'except') return !wanted.text.split('|').includes(text.toLowerCase())
  return wanted.text === 'true' ? !FALSE.test(text) : text === wanted.text
}

/** Matches texts that servers read as false. Servers differ in the texts that they read as true (`1`, `yes`). */
const FALSE = /^(?:false|0)$/i

type Target = Pick<ProviderAct, 'target' | 'reaches'>

/**
 * Returns the target that a field names. Null if the field contains the content itself, so that the provider fetches
 * nothing.
 */
function targetOf({ target, fixed }: FieldRow, value: unknown): Target | null {
  if (target === 'none') return { target: fixed ?? undefined, reaches: null }
  const text = String(value)
  if (target === 'text') return { target: text.slice(0, MAX_SHOWN), reaches: null }
  if (target === 'unread') return { target: text.slice(0, MAX_SHOWN), reaches: 'unread' }
  const isCall = target === 'call'
  if (isCall && isPhoneNumber(text)) return { target: text, reaches: null }
  if (!isCall && isInline(text)) return null
  const reaches = HOST_READERS[target](text)
  if (reaches === null) return { target: text.slice(0, MAX_SHOWN), reaches: 'unreadable' }
  return {
    target: reaches.port === usualPort(text) ? reaches.host : `${reaches.host}:${reaches.port}`,
    reaches,
  }
}

const HOST_READERS = { host: reachedHost, name: listedHost, call: calledHost } as const

function targetOfMember(value: unknown): Target {
  const isText = typeof value === 'string' && value !== ''
  return { target: isText ? value.slice(0, MAX_SHOWN) : undefined, reaches: null }
}

const MAX_SHOWN = 200

/**
 * Returns the provider-side acts that the type or a member name of a tool in the request causes. `known`: kinds of the
 * acts that other fields of the tool cause, which are not returned again.
 */
function toolActs(
  { table, tools }: CompiledTable,
  { members, names, place }: FoundMembers,
  known: ReadonlySet<ProviderKind>,
): readonly ProviderAct[] {
  const type = members.get('type')
  const isTyped = type !== undefined && type !== null
  const field = place.join('.').slice(0, MAX_SHOWN)
  const act = (kind: ProviderKind, name: string): ProviderAct[] =>
    known.has(kind) || (kind === 'provider_tool.mcp' && known.has('provider_tool.connector'))
      ? []
      : [
          {
            kind,
            target: kind === 'provider_tool.mcp' ? undefined : name.slice(0, MAX_SHOWN),
            reaches: null,
            field: `${field}.${name.slice(0, 64)}`,
          },
        ]
  const isKnownName = (name: string) => rowOf(tools, snakeCase(name)) !== undefined
  const byName = table.toolsByName === true ? names.filter((name) => !isTyped || isKnownName(name)) : []
  const typeName = type === CONTAINER ? NO_TEXT : String(type)
  const wanted = [...(isTyped ? [typeName] : []), ...byName]
  return wanted.flatMap((name) => {
    const row = rowOf(tools, table.toolsByName === true ? snakeCase(name) : name)
    const isOff = typeof row?.unless === 'string' && members.get(row.unless) === false
    const kinds: readonly ProviderKind[] = isOff ? [] : (row?.kinds ?? ['provider_tool.unknown'])
    return kinds.flatMap((kind) => act(kind, name))
  })
}

/** Text that replaces a type that is an object or a list. No tool of the table has this type. */
const NO_TEXT = '(object or list)'

export function rowOf(tools: readonly ToolRow[], type: string): ToolRow | undefined {
  return tools.find((row) => (row.isPrefix ? type.startsWith(row.type) : type === row.type))
}
