import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasRole } from '../../../core/wire/access/rights.ts'
import { size } from '../../support/proof.ts'
import { type Operation, readOperations, samples } from '../openapi/document.ts'
import type { Answer, Call } from '../routes/start.ts'
import { type Role, startTwoTenants, type TwoTenants } from './two-tenants.ts'

let world: TwoTenants
let operations: readonly Operation[]

const ROLES = ['viewer', 'member', 'admin', 'owner'] as const
/** Where a role counts: everywhere, in the namespace of a tenant, in one that has nothing, in none. */
const PLACES = { everywhere: null, alpha: ['alpha'], elsewhere: ['nothing-here'], nowhere: [] } as const
type Place = keyof typeof PLACES

const users = new Map<string, Call>()

beforeAll(async () => {
  world = await startTwoTenants()
  const all = await readOperations(world.here.plane.call)
  operations = all.filter(({ right }) => right !== undefined)
  for (const role of ROLES)
    for (const place of Object.keys(PLACES) as Place[])
      users.set(`${role} ${place}`, await world.user(role, PLACES[place]))
})
afterAll(() => world?.[Symbol.asyncDispose]())

const called = (role: Role, place: Place): Call => {
  const call = users.get(`${role} ${place}`)
  if (call === undefined) throw new Error(`no ${role} of ${place}`)
  return call
}

/** The request with every parameter that is required, and what `given` says of the others. */
function requestTo({ path, parameters }: Operation, given: Readonly<Record<string, string>>): string {
  const valueFor = ({ name, schema }: Operation['parameters'][number]) =>
    given[name] ?? String(samples(schema)[0] ?? 'nothing')
  const inPath = (text: string, each: Operation['parameters'][number]) =>
    text.replace(`{${each.name}}`, encodeURIComponent(valueFor(each)))
  const query = parameters.filter(
    ({ in: place, name, required }) => place === 'query' && (required || name in given),
  )
  const search = query.map((each) => `${each.name}=${encodeURIComponent(valueFor(each))}`).join('&')
  return `${parameters.filter((each) => each.in === 'path').reduce(inPath, path)}${search && `?${search}`}`
}

/** What some routes need beside what their schema says, to get as far as the data. */
const VALID: Readonly<Record<string, string>> = {
  url: 'https://api.example.com/',
  action_spec: JSON.stringify({ type: 'codehost.pr.merge', resource: { provider: 'codehost' } }),
}

const readings = () => operations.filter(({ method, isNamespaced }) => method === 'GET' && isNamespaced)

type Reached = {
  readonly operation: Operation
  readonly role: Role
  readonly place: Place
  readonly status: number
}
let reached: Promise<readonly Reached[]> | undefined

/**
 * True for one of `step` items in turn, by the sum of their places in several lists, so that each item of a list meets items of
 * each other list.
 */
const isTurn = (step: number, ...places: readonly number[]) =>
  places.reduce((sum, place) => sum + place, 0) % step === 0
/** Users of an operation: all in the nightly run, half of them in `npm test`. */
const USER_STEP = size(2, 1)
/** Values of a parameter: all in the nightly run, one of three in `npm test`. */
const VALUE_STEP = size(3, 1)

/** The status of operations for users, without the inputs that the operations need. Asked once for all tests. */
function statuses(): Promise<readonly Reached[]> {
  reached ??= askAll()
  return reached
}

async function askAll(): Promise<readonly Reached[]> {
  const all: Reached[] = []
  for (const [at, operation] of operations.entries())
    for (const [rank, role] of ROLES.entries())
      for (const [order, place] of (Object.keys(PLACES) as Place[]).entries()) {
        if (!isTurn(USER_STEP, at, rank, order)) continue
        const { method } = operation
        const body = method === 'GET' || method === 'DELETE' ? undefined : {}
        const { status } = await called(role, place)(method, requestTo(operation, {}), body)
        all.push({ operation, role, place, status })
      }
  return all
}

describe('every route, for every role, wherever it counts', () => {
  test('admits exactly the callers with the right in the namespace', async () => {
    const wrong: string[] = []
    const all = await statuses()
    for (const { operation, role, place, status } of all) {
      const { method, path, minimumRole, isNamespaced, right } = operation
      const isPlaced =
        place === 'everywhere' ||
        right?.startsWith('approverkeys/') === true ||
        (isNamespaced && place !== 'nowhere')
      const isIn = hasRole(role, minimumRole as Role) && isPlaced
      const isAnswered = status < 500 && status !== 401 && status !== 403
      if (isIn ? !isAnswered : status !== 403)
        wrong.push(`${method} ${path} as ${role} ${place}: ${status}, wanted ${isIn ? 'in' : 403}`)
    }
    expect(wrong).toEqual([])
    expect(all.length).toBe((operations.length * users.size) / USER_STEP)
    expect(operations.length).toBeGreaterThan(50)
  }, 240_000)

  test('is the same in the rights that a page reads', async () => {
    const wrong: string[] = []
    const names = new Set<string>()
    const all = await statuses()
    for (const [who, call] of users) {
      const { body } = await call('GET', '/api/auth/me')
      const { rights } = body['user'] as { rights: Readonly<Record<string, readonly string[] | null>> }
      const own = all.filter(({ role, place }) => `${role} ${place}` === who)
      expect(own.length).toBeGreaterThanOrEqual(Math.floor(operations.length / USER_STEP))
      for (const { operation, status } of own) {
        const { method, path, right = '', isNamespaced } = operation
        names.add(right)
        if ((status !== 403) !== right in rights) wrong.push(`${method} ${path} as ${who}: ${status}`)
        if (!isNamespaced && rights[right] != null) wrong.push(`${path} as ${who}: ${rights[right]}`)
      }
    }
    expect(wrong).toEqual([])
    expect(names.size).toBeGreaterThan(25)
  }, 240_000)

  test('shows no name, id or text of another tenant, and still those of the own one', async () => {
    const leaks: string[] = []
    const seen = new Set<string>()
    for (const operation of readings())
      for (const role of ROLES)
        for (const place of ['alpha', 'elsewhere'] as const) {
          const own = { ...VALID, agent: world.things.alpha.agent }
          const { text, status } = await called(role, place)('GET', requestTo(operation, own))
          const line = `${operation.path} as ${role} ${place}: ${status} ${text.slice(0, 2_000)}`
          if (/omega/.test(text)) leaks.push(line)
          if (place === 'elsewhere' && /alpha/.test(text.replaceAll(world.things.alpha.agent, '')))
            leaks.push(line)
          if (place === 'alpha' && /alpha/.test(text)) seen.add(operation.path)
        }
    expect(leaks).toEqual([])
    const pages = [
      'activity',
      'agents',
      'audit',
      'audit-export',
      'connectors',
      'export',
      'gateway',
      'manifests',
    ]
    pages.push(
      'overview',
      'permissions',
      'policies',
      'proxy-approvals',
      'traffic',
      'effective-permissions',
      'unowned-hosts',
    )
    expect([...seen]).toEqual(expect.arrayContaining(pages.map((page) => `/api/dashboard/${page}`)))
  }, 240_000)

  test('answers for anything of another tenant exactly what it answers for what does not exist', async () => {
    const different: string[] = []
    let checks = 0
    const values = Object.values(world.things.omega)
    let parameters = 0
    for (const operation of readings())
      for (const { name } of operation.parameters) {
        const first = parameters++
        for (const [at, value] of values.entries()) {
          if (!isTurn(VALUE_STEP, first, at)) continue
          const own = { ...VALID, agent: world.things.alpha.agent }
          const ask = (given: string) =>
            called('owner', 'alpha')('GET', requestTo(operation, { ...own, [name]: given }))
          const unknown = unknownLike(value)
          const [there, nowhere] = [await ask(value), await ask(unknown)]
          checks++
          if (comparable(there, value) !== comparable(nowhere, unknown))
            different.push(`${operation.path} ${name}=${value}: ${there.text} / ${nowhere.text}`)
        }
      }
    expect(different).toEqual([])
    expect(checks).toBeGreaterThan(400 / VALUE_STEP)
  }, 240_000)
})

/** Of the same form and length, and nothing bears it. */
function unknownLike(value: string): string {
  return value.includes('omega') ? value.replaceAll('omega', 'otega') : `${value.slice(0, -6)}zzzzzz`
}

/** Without the value itself and without what differs from one moment to the next. */
function comparable({ status, text }: Answer, value: string): string {
  const quoted = JSON.stringify(value).slice(1, -1)
  const still = text.replaceAll(quoted, 'VALUE').replaceAll(encodeURIComponent(value), 'VALUE')
  return `${status} ${still.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME').replaceAll(/req_\w+/g, 'REQ')}`
}
