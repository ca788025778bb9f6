import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPageRoutes } from '../../controlplane/http/page-routes.ts'
import { buildDashboard } from '../../scripts/build-dashboard.ts'
import { readOperations } from '../controlplane/openapi/document.ts'
import { startTestInstallation, type TestInstallation } from '../controlplane/routes/installation.ts'

/** How the library names the class of a part of a component. */
const PART = /\bm_[0-9a-f]{6,8}\b/g

let here: TestInstallation
beforeAll(async () => {
  await buildDashboard()
  here = await startTestInstallation()
})
afterAll(() => here?.[Symbol.asyncDispose]())

const fetched = (path: string, encoding = 'identity') =>
  fetch(here.plane.url + path, { headers: { 'accept-encoding': encoding } })

/** What the page names itself: style, entry and the modules that the entry begins with. */
async function firstFiles(): Promise<string[]> {
  const html = await (await fetched('/')).text()
  return [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
}

describe('the page', () => {
  test.each(['/', '/setup'])(
    '%s comes with a policy that admits our own files and a nonce used once',
    async (path) => {
      const answers = [await fetched(path), await fetched(path)]
      const nonces = await Promise.all(
        answers.map(async (answer) => {
          const policy = answer.headers.get('content-security-policy') ?? ''
          expect(policy).toContain("default-src 'none'")
          expect(policy).toContain("script-src 'self';")
          expect(policy).toContain("frame-ancestors 'none'")
          expect(policy).not.toMatch(/unsafe|https?:|\*/)
          expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
          expect(answer.headers.get('cache-control')).toBe('no-store')
          const nonce = /style-src 'self' 'nonce-([^']+)'/.exec(policy)?.[1] ?? ''
          expect(nonce.length).toBeGreaterThanOrEqual(22)
          const html = await answer.text()
          expect(html).toContain(`nonce="${nonce}"`)
          expect(html).not.toContain('{{')
          return nonce
        }),
      )
      expect(new Set(nonces).size).toBe(2)
    },
  )

  test('the markup has no script, style or handler of its own and names nothing elsewhere', async () => {
    const html = await (await fetched('/')).text()
    expect(html).not.toMatch(/<style|\son\w+=|\sstyle=|https?:|\/\/\w/i)
    expect(html.match(/<script[^>]*>[^<]/g)).toBeNull()
  })

  test('before anything is built says how to build it, under the same policy', async () => {
    const empty = await mkdtemp(join(tmpdir(), 'chaperone-no-dashboard-'))
    const [first] = createPageRoutes([empty])
    await rm(empty, { recursive: true })
    const answer = (await first?.handler({} as never)) as { body: string; headers: Record<string, string> }
    expect(answer.body).toContain('npm start')
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'")
  })
})

describe('the web app', () => {
  test('can be added to the home screen of a phone, where it opens without the frame of a browser', async () => {
    const html = await (await fetched('/')).text()
    const [, manifestPath = ''] = /<link rel="manifest" href="([^"]+)"/.exec(html) ?? []
    const [, touchIcon = ''] = /<link rel="apple-touch-icon" href="([^"]+)"/.exec(html) ?? []
    const answer = await fetched(manifestPath)
    expect(answer.headers.get('content-type')).toBe('application/manifest+json')
    const manifest = (await answer.json()) as {
      readonly icons: ReadonlyArray<{ readonly src: string; readonly sizes: string }>
    }
    expect(manifest).toMatchObject({ name: 'Chaperone', display: 'standalone', start_url: '/#/approvals' })
    const icons = [...manifest.icons, { src: touchIcon, sizes: '180x180' }]
    for (const { src, sizes } of icons) {
      const icon = await fetched(src)
      expect(icon.headers.get('content-type'), src).toBe('image/png')
      const bytes = Buffer.from(await icon.arrayBuffer())
      // Width and height in the first chunk (IHDR) of a PNG.
      expect(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, src).toBe(sizes)
    }
    const policy = (await fetched('/')).headers.get('content-security-policy')
    expect(policy).toContain("manifest-src 'self'")
  })
})

describe('the service worker', () => {
  type Shown = { readonly title: string; readonly options: { tag: string; body: string; data: unknown } }

  /** Runs the script that the server sends, with the events that it has asked for. */
  async function startWorker() {
    const answer = await fetched('/service-worker.js')
    const listeners = new Map<string, (event: object) => void>()
    const [shown, opened]: [Shown[], string[]] = [[], []]
    const self = {
      location: { origin: 'https://chaperone.example' },
      registration: {
        showNotification: async (title: string, options: Shown['options']) =>
          void shown.push({ title, options }),
      },
      clients: { matchAll: async () => [], openWindow: async (url: string) => void opened.push(url) },
      skipWaiting: async () => undefined,
      addEventListener: (type: string, listener: (event: object) => void) => listeners.set(type, listener),
    }
    runInNewContext(await answer.text(), { self })
    const send = async (type: string, event: object) => {
      const work: Promise<unknown>[] = []
      listeners.get(type)?.({ ...event, waitUntil: (each: Promise<unknown>) => work.push(each) })
      await Promise.all(work)
    }
    const push = (data: unknown) => send('push', { data: { json: () => data } })
    return { answer, send, push, shown, opened }
  }

  test('comes from the root under a policy that permits it no request, and is asked for again', async () => {
    const { answer } = await startWorker()
    expect(answer.headers.get('content-type')).toContain('text/javascript')
    expect(answer.headers.get('content-security-policy')).toBe("default-src 'none'")
    expect(answer.headers.get('cache-control')).toBe('no-cache')
  })

  test.each([
    [{ count: 1, link: '/#/approvals' }, '1 pending approval'],
    [{ count: 3, link: 'https://elsewhere.example/' }, '3 pending approvals'],
    [{ count: null, link: '/#/approvals' }, 'Chaperone test message'],
  ])('shows %j as "%s", and opens this site only', async (message, title) => {
    const worker = await startWorker()
    await worker.push(message)
    expect(worker.shown).toMatchObject([{ title, options: { tag: 'chaperone-approvals' } }])
    const data = worker.shown[0]?.options.data
    await worker.send('notificationclick', { notification: { data, close: () => undefined } })
    expect(worker.opened).toEqual(['https://chaperone.example/#/approvals'])
  })
})

describe('its files', () => {
  test('are kept for ever under names of their content, and come compressed as asked', async () => {
    for (const path of await firstFiles()) {
      const [plain, br, gz] = await Promise.all([
        fetched(path),
        rawBytes(path, 'br'),
        rawBytes(path, 'gzip;q=0.5'),
      ])
      expect(plain.status, path).toBe(200)
      expect(path).toMatch(/-[A-Z0-9]{8}\.(js|css)$/)
      expect(plain.headers.get('content-type')).toContain(
        path.endsWith('.css') ? 'text/css' : 'text/javascript',
      )
      expect(plain.headers.get('cache-control')).toContain('immutable')
      expect(plain.headers.get('vary')).toBe('accept-encoding')
      const content = Buffer.from(await plain.arrayBuffer())
      expect(brotliDecompressSync(br).equals(content)).toBe(true)
      expect(gunzipSync(gz).equals(content)).toBe(true)
      expect((await rawBytes(path, 'br;q=0')).equals(content)).toBe(true)
    }
  })

  test('the first view of a signed-in user is below 200 KB compressed', async () => {
    const waiting = await firstFiles()
    const seen = new Set<string>()
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (seen.has(path)) continue
      seen.add(path)
      const text = await (await fetched(path)).text()
      const imported = [...text.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)]
      const asked = [...text.matchAll(/import\("\.\/((?:time-chart-drawing)-[^"]+\.js)"\)/g)]
      waiting.push(...[...imported, ...asked].map(([, name = '']) => `/assets/${name}`))
    }
    const sizes = await Promise.all([...seen].map(async (path) => (await rawBytes(path, 'br')).length))
    const total = sizes.reduce((sum, size) => sum + size, 0)
    for (const part of ['app', 'time-chart-drawing', 'styles'])
      expect(
        [...seen].some((path) => path.includes(`/${part}-`)),
        part,
      ).toBe(true)
    console.log(`first view: ${total} bytes compressed in ${seen.size} files`)
    expect(total).toBeGreaterThan(100_000)
    expect(total).toBeLessThan(200_000)
  })

  test('have the style of every part of the library that they show', async () => {
    const library = readFileSync('node_modules/@mantine/core/styles.css', 'utf8')
    const known = new Set(library.match(PART))
    const waiting = await firstFiles()
    const seen = new Map<string, string>()
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (seen.has(path)) continue
      const text = await (await fetched(path)).text()
      seen.set(path, text)
      waiting.push(...[...text.matchAll(/"\.\/([^"]+\.js)"/g)].map(([, name = '']) => `/assets/${name}`))
    }
    const partsIn = (ending: string) =>
      new Set([...seen].flatMap(([path, text]) => (path.endsWith(ending) ? (text.match(PART) ?? []) : [])))
    const styled = partsIn('.css')
    const shown = [...partsIn('.js')].filter((part) => known.has(part))
    expect(shown.length).toBeGreaterThan(100)
    expect(shown.filter((part) => !styled.has(part))).toEqual([])
  })

  test('lock no orientation', async () => {
    const texts = await Promise.all((await firstFiles()).map(async (path) => (await fetched(path)).text()))
    expect(texts.join('\n')).not.toMatch(/\(orientation\s*:/)
  })

  test('hold no address of another place but those that are only names', async () => {
    const texts = await Promise.all((await firstFiles()).map(async (path) => (await fetched(path)).text()))
    const addresses = texts.flatMap((text) =>
      [...text.matchAll(/https?:\/\/[^\s"'`)\\<]+/g)].map(([url]) => url),
    )
    const names =
      /^https?:\/\/(www\.w3\.org|react\.dev|mantine\.dev|github\.com|api\.github\.com|\w*\.?example)/
    expect(addresses.filter((url) => !names.test(url) && url.length > 9)).toEqual([])
    expect(texts.join('\n')).not.toMatch(/@import\s+(url\()?["']?https?:/)
  })
})

/** As they travel: fetch would unpack them. */
async function rawBytes(path: string, encoding: string): Promise<Buffer> {
  const { request } = await import('node:http')
  return new Promise((resolve, reject) => {
    const call = request(here.plane.url + path, { headers: { 'accept-encoding': encoding } }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('end', () => resolve(Buffer.concat(chunks)))
    })
    call.on('error', reject)
    call.end()
  })
}

describe('the API that the pages use', () => {
  test('is nothing but the documented one', async () => {
    const source = readFileSync('controlplane/dashboard/api/operations.ts', 'utf8')
    const used = [...source.matchAll(/readonly '((?:GET|POST|PUT|PATCH|DELETE) \/api\/[^']+)'/g)].map(
      ([, name]) => name,
    )
    const documented = new Set(
      (await readOperations(here.plane.call)).map(({ method, path }) => `${method} ${path}`),
    )
    expect(used.length).toBeGreaterThanOrEqual(20)
    expect(used.filter((name) => !documented.has(name ?? ''))).toEqual([])
  })
})
