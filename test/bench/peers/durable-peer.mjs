// What a careful engineer writes first: Fastify, a pool of 10 connections, named statements, a decision by a map. It
// keeps what we keep (the agent's key and its window of 60 a minute, the action, its nonce, two audit events) in tables
// with the same columns and indexes, answers after the commit, and signs the token afterwards. It checks less than we
// do: no schema of the input, no policies, no kill switch, no approval, no replicas.
//
// MODE=statement     everything of a request in one statement
// MODE=transaction   the key in one statement, then one transaction with a statement for each step
import { createHash, generateKeyPairSync, randomBytes, sign, timingSafeEqual, verify } from 'node:crypto'
import Fastify from 'fastify'
import pg from 'pg'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const KID = 'peer'
const ORG = 'org_peer'
const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: 10,
  options: `-c search_path=${process.env.SCHEMA}`,
})
const permissions = new Map([
  ['codehost.issue.create', 'allow'],
  ['codehost.branch.delete', 'deny'],
])

const id = (prefix) => prefix + randomBytes(15).toString('base64url')
const b64 = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
const HEAD = b64({ alg: 'EdDSA', kid: KID, typ: 'JWT' })

function tokenOf({ agentId, actId, jti, iat, spec }) {
  const ash = createHash('sha256').update(JSON.stringify(spec)).digest('hex')
  const signed = `${HEAD}.${b64({ iss: 'peer', aud: 'gateway', sub: agentId, org: ORG, act: actId, ash, jti, iat, exp: iat + 300 })}`
  return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`
}

function keyOf(request) {
  const key = (request.headers.authorization ?? '').slice('Bearer '.length)
  return { prefix: key.slice(0, 15), sha256: createHash('sha256').update(key).digest() }
}

function decided(spec) {
  const outcome = permissions.get(spec.type) ?? 'deny'
  return {
    actId: id('act_'),
    jti: id(''),
    status: outcome === 'allow' ? 'allowed' : 'denied',
    decision: { outcome, reason: `${outcome}ed by a permission`, matched_policies: [], risk_score: 0.2, constraints: null },
    requested: { action_type: spec.type, resource: spec.resource, parameters: spec.parameters ?? {}, risk_score: 20, risk_hints: {} },
  }
}

const WINDOW = `insert into agent_windows as w (agent_id, hits, is_admitted)
    select id, array[statement_timestamp()], true from agent
    on conflict (agent_id) do update set
      is_admitted = cardinality(w.hits) < 60 or w.hits[1] <= statement_timestamp() - interval '1 minute',
      hits = case
        when cardinality(w.hits) < 60 then w.hits || statement_timestamp()
        when w.hits[1] <= statement_timestamp() - interval '1 minute' then w.hits[2:] || statement_timestamp()
        else w.hits end
    returning agent_id, is_admitted`
const AGENT = `select id, name from agents where api_key_prefix = $1 and api_key_sha256 = $2 and status = 'active'`

const ONE = `with agent as (${AGENT}), counted as (${WINDOW}), admitted as (
    select agent.* from agent join counted on agent_id = id where is_admitted
  ), action as (
    insert into action_requests (id, org_id, agent_id, agent, status, action_spec, decision, connector)
    select $3, '${ORG}', id, name, $4, $5::json, $6::json, $7 from admitted
  ), nonce as (
    insert into nonces (jti, act_id, kid, issued_at, expires_at)
    select $8, $3, '${KID}', date_trunc('second', now()), date_trunc('second', now()) + interval '5 minutes' from admitted
    where $4 = 'allowed'
  ), log as (
    insert into audit_events (event_type, org_id, agent_id, action_request_id, details)
    select e.type, '${ORG}', admitted.id, $3, e.details
    from admitted, (values ('action.requested', $9::jsonb), ('action.' || $4, $6::jsonb)) as e(type, details)
  )
  select agent.id, is_admitted, extract(epoch from date_trunc('second', now()))::int as iat from agent left join counted on agent_id = id`

async function inOneStatement(request, spec) {
  const { prefix, sha256 } = keyOf(request)
  const made = decided(spec)
  const values = [prefix, sha256, made.actId, made.status, JSON.stringify(spec), JSON.stringify(made.decision),
    spec.resource.provider, made.jti, JSON.stringify(made.requested)]
  const { rows } = await pool.query({ name: 'one', text: ONE, values })
  return { ...made, row: rows[0] }
}

const KEY = `with agent as (select id, name, api_key_sha256 from agents where api_key_prefix = $1 and status = 'active'), counted as (${WINDOW})
  select id, name, api_key_sha256, is_admitted from agent left join counted on agent_id = id`

async function inOneTransaction(request, spec) {
  const { prefix, sha256 } = keyOf(request)
  const client = await pool.connect()
  try {
    const found = (await client.query({ name: 'key', text: KEY, values: [prefix] })).rows[0]
    if (found === undefined || !timingSafeEqual(found.api_key_sha256, sha256) || !found.is_admitted) return { row: found }
    const made = decided(spec)
    await client.query('begin')
    await client.query({
      name: 'action',
      text: `insert into action_requests (id, org_id, agent_id, agent, status, action_spec, decision, connector)
        values ($1, '${ORG}', $2, $3, $4, $5, $6, $7)`,
      values: [made.actId, found.id, found.name, made.status, JSON.stringify(spec), JSON.stringify(made.decision), spec.resource.provider],
    })
    await audit(client, found.id, { actId: made.actId, type: 'action.requested', details: made.requested })
    const issued = await client.query({
      name: 'nonce',
      text: `insert into nonces (jti, act_id, kid, issued_at, expires_at) values ($1, $2, '${KID}', date_trunc('second', now()),
        date_trunc('second', now()) + interval '5 minutes') returning extract(epoch from issued_at)::int as iat`,
      values: [made.jti, made.actId],
    })
    await audit(client, found.id, { actId: made.actId, type: `action.${made.status}`, details: made.decision })
    await client.query('commit')
    return { ...made, row: { id: found.id, is_admitted: true, iat: issued.rows[0].iat } }
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

function audit(client, agentId, { actId, type, details }) {
  return client.query({
    name: 'audit',
    text: `insert into audit_events (event_type, org_id, agent_id, action_request_id, details) values ($1, '${ORG}', $2, $3, $4)`,
    values: [type, agentId, actId, JSON.stringify(details)],
  })
}

const app = Fastify()
const store = process.env.MODE === 'statement' ? inOneStatement : inOneTransaction

app.post('/api/v1/actions', async (request, reply) => {
  const { action_spec: spec } = request.body
  const { row, actId, jti, status, decision } = await store(request, spec)
  if (row === undefined) return reply.code(401).send({ error: 'unauthorized' })
  if (!row.is_admitted) return reply.code(429).send({ error: 'rate limit exceeded' })
  const token = status === 'allowed' ? tokenOf({ agentId: row.id, actId, jti, iat: row.iat, spec }) : null
  return { action_request_id: actId, status, decision, decision_token: token, expires_at: new Date((row.iat + 300) * 1000).toISOString() }
})

// Verify and consume: the signature, then one conditional update.
app.post('/api/v1/tokens/verify', async (request) => {
  const { decision_token: token, action_request_id: wanted } = request.body
  const [head, body, signature, rest] = token.split('.')
  if (head !== HEAD || !body || !signature || rest !== undefined) return { valid: false, error: 'Malformed token' }
  if (!verify(null, Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature, 'base64url'))) {
    return { valid: false, error: 'Invalid signature' }
  }
  const { sub, org, act, ash, jti } = JSON.parse(Buffer.from(body, 'base64url'))
  if (act !== wanted) return { valid: false, error: 'Action mismatch' }
  const { rowCount } = await pool.query({
    name: 'consume',
    text: `update nonces set used_at = clock_timestamp(), used_by = 'verify'
      where jti = $1 and act_id = $2 and used_at is null and expires_at > clock_timestamp()`,
    values: [jti, act],
  })
  return rowCount === 1 ? { valid: true, payload: { sub, org, act, ash } } : { valid: false, error: 'Nonce already used' }
})

await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.({ type: 'ready', port: app.server.address().port })
process.on('disconnect', () => process.exit(0))
