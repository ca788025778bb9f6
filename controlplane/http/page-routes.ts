import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import * as z from 'zod'
import { type Route, type RouteResult, route } from './route.ts'

/** Folders of the built dashboard: in a release, and in a source checkout after `npm start` or `npm test`. */
const FOLDERS = [
  join(import.meta.dirname, '../dashboard'),
  join(import.meta.dirname, '../../node_modules/.cache/chaperone/dashboard'),
]
const PATHS = ['/', '/setup'] as const
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}
/**
 * Files with a fixed URL at the root, and their content types. The URLs must not change: the URL of a service worker
 * identifies the worker and limits the pages that it serves, and phones store the URLs of a web app. Browsers
 * revalidate these files (`no-cache`).
 */
const ROOT_FILES: Readonly<Record<string, string>> = {
  'service-worker.js': 'text/javascript; charset=utf-8',
  'web-app.webmanifest': 'application/manifest+json',
  'icon-180.png': 'image/png',
  'icon-192.png': 'image/png',
  'icon-512.png': 'image/png',
}
const ENCODINGS = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
] as const

const Manifest = z.object({ version: z.string().regex(/^[0-9a-f]+$/), files: z.array(z.string()) })

/**
 * Serves the single page of the dashboard and its files. The files are read once. The names of files under `/assets/`
 * contain the hash of their content.
 */
export function createPageRoutes(folders: readonly string[] = FOLDERS): readonly Route[] {
  const folder = folders.find((path) => existsSync(join(path, 'manifest.json')))
  if (folder === undefined) return PATHS.map((path) => page(path, NOT_BUILT))
  const { version, files } = Manifest.parse(JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')))
  const read = (name: string) => readFileSync(join(folder, version, name))
  const template = read('index.html').toString('utf8')
  return [
    ...PATHS.map((path) => page(path, template)),
    ...files.filter(isAsset).map((name) => asset(name, files, read)),
    ...files.flatMap((name) => {
      const type = ROOT_FILES[name]
      return type === undefined ? [] : [rootFile(name, type, read(name))]
    }),
  ]
}

/**
 * Returns the content security policy of the page. The policy allows files of this origin only, forbids frames, and
 * requires the nonce of the response for inline styles.
 */
function policyWith(nonce: string): string {
  return `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`
}

function page(path: string, template: string): Route {
  return route({
    method: 'GET',
    path,
    auth: 'none',
    summary: 'Returns the page of the dashboard',
    handler: async () => {
      const nonce = randomBytes(16).toString('base64')
      return {
        status: 200,
        body: template.replaceAll('{{nonce}}', nonce),
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': policyWith(nonce),
          'referrer-policy': 'no-referrer',
          'x-frame-options': 'DENY',
          'cross-origin-opener-policy': 'same-origin',
        },
      }
    },
  })
}

function asset(name: string, files: readonly string[], read: (name: string) => Buffer): Route {
  const whole = read(name)
  const packed = ENCODINGS.filter(({ ending }) => files.includes(name + ending)).map((encoding) => ({
    ...encoding,
    content: read(name + encoding.ending),
  }))
  const headers = {
    'content-type': TYPES[extname(name)] ?? '',
    'cache-control': 'public, max-age=31536000, immutable',
    'content-security-policy': "default-src 'none'",
    vary: 'accept-encoding',
  }
  return route({
    method: 'GET',
    path: `/assets/${name}`,
    auth: 'none',
    summary: 'Returns a file of the dashboard',
    handler: async ({ raw }): Promise<RouteResult> => {
      const accepted = acceptedEncodings(raw.request.headers['accept-encoding'])
      const found = packed.find((encoding) => accepted.has(encoding.name))
      if (found === undefined) return { status: 200, body: whole, headers }
      return { status: 200, body: found.content, headers: { ...headers, 'content-encoding': found.name } }
    },
  })
}

function isAsset(name: string): boolean {
  return TYPES[extname(name)] !== undefined && !(name in ROOT_FILES)
}

/** Serves a file of `ROOT_FILES`. The service worker makes no requests, and its policy permits none. */
function rootFile(name: string, type: string, content: Buffer): Route {
  const headers = {
    'content-type': type,
    'cache-control': 'no-cache',
    'content-security-policy': "default-src 'none'",
  }
  return route({
    method: 'GET',
    path: `/${name}`,
    auth: 'none',
    summary: `Returns ${name} of the dashboard`,
    handler: async () => ({ status: 200, body: content, headers }),
  })
}

function acceptedEncodings(header: string | string[] | undefined): ReadonlySet<string> {
  const parts = String(header ?? '')
    .split(',')
    .map((part) => part.trim().toLowerCase())
  return new Set(
    parts.filter((part) => !/;\s*q=0(\.0*)?$/.test(part)).map((part) => part.split(';')[0] ?? ''),
  )
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8" /><title>Chaperone</title></head>
  <body>
    <h1>The dashboard is not built</h1>
    <p>The API and the gateways work. To see the pages, run <code>node scripts/build-dashboard.ts</code> in the checkout and start again; <code>npm start</code> does both.</p>
  </body>
</html>
`
