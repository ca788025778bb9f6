import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { cliProgram } from '../../support/cli-program.ts'
import { eventually } from '../../support/eventually.ts'
import { PROGRAM_ENV } from '../../support/program-env.ts'
import { caller, register } from '../routes/start.ts'
import { type OidcStage, startOidcStage } from './stage.ts'
import { fragmentOf, isCallback, openVisitor } from './visitor.ts'

const CLI = cliProgram()
let stage: OidcStage
let home: string
const children: ReturnType<typeof spawn>[] = []

beforeAll(async () => {
  stage = await startOidcStage()
  await register(stage.here.plane.call, 'owner@example.com')
  home = await mkdtemp(join(tmpdir(), 'chaperone-home-'))
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await rm(home, { recursive: true, force: true })
})

async function startLogin(...args: string[]) {
  const env = { ...PROGRAM_ENV, HOME: home, CHAPERONE_URL: stage.here.plane.url }
  const child = spawn(process.execPath, [CLI, 'login', ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  children.push(child)
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const stdout = text(child.stdout)
  return { child, ended, stdout, stderr: () => output }
}

async function untilAsked(login: Awaited<ReturnType<typeof startLogin>>) {
  const asked = await eventually('the address', async () => /port (\d+)\./.exec(login.stderr()))
  const url = /(http\S+\/begin\?request=\S+)/.exec(login.stderr())?.[1] ?? ''
  return { url, port: Number(asked[1]) }
}

/** The page between the provider and the terminal. */
async function confirmation(url: string, subject: string, visitor = openVisitor()) {
  stage.idp.signIn = subject
  const page = await visitor.get(await visitor.follow(url, isCallback))
  const target = /<a href="(http[^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&')
  return { ...page, target: target ?? '' }
}

function ask(port: number, path: string, host = `127.0.0.1:${port}`, method = 'GET'): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers: { host } }, (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
    })
    sent.once('error', reject).end()
  })
}

describe('chaperone login through the identity provider', () => {
  test('signs in by a loopback redirect that the user confirms, and keeps the session of a plain client', async () => {
    const login = await startLogin()
    const { url, port } = await untilAsked(login)
    const page = await confirmation(url, 'bea')
    expect(page.text).toContain('bea@example.com')
    expect(page.text).toContain(`port ${port}`)
    expect(page.text).not.toContain('<script')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(page.target).toMatch(new RegExp(`^http://127\\.0\\.0\\.1:${port}/signed-in\\?code=[\\w-]{43}$`))
    expect((await fetch(page.target)).status).toBe(200)
    expect(await login.ended).toBe(0)
    expect(await login.stdout).toContain('Signed in as bea@example.com (member)')
    const kept = JSON.parse(
      await readFile(join(home, '.local/state/chaperone/sessions.json'), 'utf8'),
    ) as Record<string, { id: string }>
    const cookie = `svc_session=${kept[stage.here.plane.url]?.id}`
    const call = caller(stage.here.plane.url, { cookie })
    expect((await call('GET', '/api/auth/me')).body).toMatchObject({
      user: { email: 'bea@example.com', restriction: null },
    })
    expect(login.stderr() + (await login.stdout)).not.toContain(kept[stage.here.plane.url]?.id)
  })

  test('is neither ended nor signed in to another account by requests of other programs and pages to its port', async () => {
    const login = await startLogin('--json')
    const { url, port } = await untilAsked(login)
    const guess = `/signed-in?code=${'x'.repeat(43)}`
    expect(await ask(port, guess)).toBe(400)
    expect(await ask(port, '/signed-in')).toBe(400)
    expect(await ask(port, '/')).toBe(400)
    expect(await ask(port, '//evil.example/signed-in?code=x')).toBe(400)
    expect(await ask(port, '/signed-in?code=%3Cscript%3E')).toBe(400)
    // The code of a sign-in that somebody else started (login CSRF), which is void then.
    const other = await stage.walk('ada')
    expect(await ask(port, `/signed-in?code=${fragmentOf(other.end).code}`)).toBe(400)
    const page = await confirmation(url, 'bea')
    const path = page.target.slice(`http://127.0.0.1:${port}`.length)
    // A name that points at this machine (DNS rebinding), and another method.
    expect(await ask(port, path, `evil.example:${port}`)).toBe(400)
    expect(await ask(port, path, `127.0.0.1:${port}`, 'POST')).toBe(400)
    expect((await fetch(page.target)).status).toBe(200)
    expect(await login.ended).toBe(0)
    expect(JSON.parse(await login.stdout)).toMatchObject({ email: 'bea@example.com' })
  })

  test('gives the code of a command to no page, and that of a page to no command', async () => {
    const login = await startLogin()
    const { url } = await untilAsked(login)
    const visitor = openVisitor()
    const page = await confirmation(url, 'bea', visitor)
    expect(page.location).toBeNull()
    const code = new URL(page.target).searchParams.get('code')
    const secret = 'A'.repeat(43)
    expect((await stage.here.plane.call('POST', '/api/auth/oidc/exchange', { code, secret })).status).toBe(
      401,
    )
    expect((await fetch(page.target)).status).toBe(400)
    login.child.kill('SIGINT')
    await login.ended
  })

  test('with --email asks for the password', async () => {
    const login = await startLogin('--email', 'owner@example.com', '--json')
    login.child.stdin.end('correct horse battery\n')
    expect(await login.ended).toBe(0)
    expect(JSON.parse(await login.stdout)).toMatchObject({ role: 'owner' })
    expect(login.stderr()).not.toContain('/api/auth/oidc/')
  })
})
