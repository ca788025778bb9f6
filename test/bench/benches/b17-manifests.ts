import { pino } from 'pino'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { ACCOUNTS_ONLY } from '../../../controlplane/features/authentication/cluster/group-members.ts'
import { createManifests, type Manifests } from '../../../controlplane/features/manifests/service.ts'
import { createCatalogue } from '../../../core/connectors/catalogue.ts'
import type { PushBody } from '../../../core/wire/operator/operator.ts'
import { startPostgres } from '../../support/postgres.ts'
import type { Bench } from '../main.ts'
import { median } from '../support/measure.ts'
import type { Row } from '../support/report.ts'

/** Objects: ten Permissions for each Policy, in namespaces of 100 Permissions. */
const SMALL = 1_100
const LARGE = 11_000
const PER_NAMESPACE = 100
const PER_CHANGE_SET = 500
const ROUNDS = 40
/** Linear: what an object among ten times as many may cost more. */
const GOAL = 1.5

/**
 * Applying manifests, and single changes after it, with 1,100 and with 11,000 objects: two databases of one server,
 * changed in turns, medians.
 */
export const manifests: Bench = async ({ isQuick }) => {
  const server = await startPostgres()
  const installations: Installation[] = []
  try {
    const applyMs: number[] = []
    for (const size of [SMALL, isQuick ? LARGE / 2 : LARGE]) {
      const one = await openInstallation((await server.createDatabase()).url)
      installations.push(one)
      const startedMs = performance.now()
      await applyAll(one, size)
      applyMs.push((performance.now() - startedMs) / size)
    }
    const rows: Row[] = [row('apply, ms for each object', applyMs[0], applyMs[1])]
    for (const [figure, change] of Object.entries(CHANGES)) {
      const [theirs, ours] = await mediansMs(installations, change)
      rows.push(row(`${figure}, ms`, theirs, ours))
    }
    return rows
  } finally {
    for (const { db } of installations) await db.close()
    await server.stop()
  }
}

type Installation = { readonly db: Db; readonly manifests: Manifests; generation: number }

async function openInstallation(url: string): Promise<Installation> {
  const db = await openDb({ url, log: pino({ level: 'silent' }) })
  await migrate(db)
  const { id: orgId } = await db.tx((q) => ensureOrg(q))
  const { knownAction } = createCatalogue()
  const manifests = createManifests({
    ...{ db, orgId, keyring: createKeyring(Buffer.alloc(32, 7)), knownAction },
    killSwitch: { replaceSource: async () => false },
    members: ACCOUNTS_ONLY,
  })
  return { db, manifests, generation: 1 }
}

async function applyAll({ manifests }: Installation, size: number): Promise<void> {
  const permissions = Math.round((size / 11) * 10)
  const teams = Array.from({ length: permissions / PER_NAMESPACE }, (_, at) => `team-${at}`)
  const objects = [
    ...teams.map((team) => gateway(team, 1)),
    ...teams.map((team) => connector(team, 1)),
    ...teams.flatMap((team) => Array.from({ length: PER_NAMESPACE }, (_, at) => permission(team, at, 1))),
    ...teams.flatMap((team) => Array.from({ length: PER_NAMESPACE / 10 }, (_, at) => policy(team, at, 1))),
  ]
  for (let at = 0; at < objects.length; at += PER_CHANGE_SET) {
    const set = objects.slice(at, at + PER_CHANGE_SET)
    const { replies } = await manifests.change({ source: 'kubernetes', objects: set, removed: [] })
    const refused = replies.find(({ accepted }) => !accepted)
    if (refused !== undefined) throw new Error(`an object was refused: ${refused.reasons.join('; ')}`)
  }
}

const CHANGES: Readonly<Record<string, (generation: number) => PushBody>> = {
  'one Permission': (generation) => permission('team-1', 1, generation),
  'one Policy': (generation) => policy('team-1', 1, generation),
  'one Connector': (generation) => connector('team-1', generation),
  'one Gateway': (generation) => gateway('team-1', generation),
}

async function mediansMs(
  installations: readonly Installation[],
  change: (generation: number) => PushBody,
): Promise<readonly number[]> {
  const times: number[][] = installations.map(() => [])
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, installation] of installations.entries()) {
      installation.generation += 1
      const startedMs = performance.now()
      const { accepted } = await installation.manifests.put(change(installation.generation))
      times[at]?.push(performance.now() - startedMs)
      if (!accepted) throw new Error('a change was refused')
    }
  }
  return times.map(median)
}

function gateway(team: string, generation: number): PushBody {
  return object('Gateway', team, 'gateway', generation, {
    egress: { allowedHosts: [`v${generation}.example`] },
  })
}

function connector(team: string, generation: number): PushBody {
  const domains = [`${team}.example`, `v${generation}.${team}.example`]
  return object('Connector', team, 'connector', generation, {
    ...{ type: 'generic', domains, auth: { type: 'none' } },
  })
}

function permission(team: string, at: number, generation: number): PushBody {
  const rules = [
    { connectorType: 'generic', actionPattern: 'generic.get', decision: 'allow', reason: `v${generation}` },
  ]
  return object('Permission', team, `permission-${at}`, generation, {
    ...{ rules, agents: [`agent-${at}`], gatewayRefs: [{ name: 'gateway' }] },
  })
}

function policy(team: string, at: number, generation: number): PushBody {
  const rule = {
    name: `deny-${team}-${at}-${generation}`,
    conditions: ['action.type == "codehost.repo.delete"'],
    decision: 'deny',
  }
  const tested = {
    name: 'deleting',
    action: { type: 'codehost.repo.delete', resource: { provider: 'codehost' } },
    expect: { outcome: 'deny' },
  }
  return object('Policy', team, `policy-${at}`, generation, { rules: [rule], tests: [tested] })
}

function object(kind: string, namespace: string, name: string, generation: number, spec: object): PushBody {
  return {
    ...{ uid: `${kind}-${namespace}-${name}`, generation, source: 'kubernetes', managed_by: name },
    created_at: '2026-01-01T00:00:00Z',
    resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
  } as PushBody
}

function row(figure: string, theirs = Number.NaN, ours = Number.NaN): Row {
  return {
    bench: 'B17',
    figure: `manifests: ${figure}`,
    ours,
    peer: `at ${SMALL} objects`,
    theirs,
    goal: GOAL,
  }
}
