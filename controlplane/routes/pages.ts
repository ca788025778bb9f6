import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { extname, join } from 'node:path'
import { type Route, route } from '../http/route.ts'

const FOLDER = join(import.meta.dirname, '../dashboard')
const PAGES = ['/', '/setup'] as const
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ts': 'text/javascript; charset=utf-8',
}

/** Only our own files, no frames, no other origins. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/** The dashboard: one page and its files, read once. Its TypeScript is served with the types taken out. */
export function createPageRoutes(folder = FOLDER): readonly Route[] {
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    (file) => file.isFile() && TYPES[extname(file.name)],
  )
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  return [
    ...PAGES.map((path) => file(path, 'text/html; charset=utf-8', page)),
    ...files
      .filter(({ name }) => name !== 'index.html')
      .map(({ name }) => file(`/assets/${name}`, TYPES[extname(name)] ?? '', contentOf(join(folder, name)))),
  ]
}

function file(path: string, contentType: string, content: string): Route {
  return route({
    method: 'GET',
    path,
    auth: 'none',
    summary: 'The dashboard',
    handler: async () => ({
      status: 200,
      body: content,
      headers: {
        'content-type': contentType,
        'content-security-policy': POLICY,
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
      },
    }),
  })
}

function contentOf(path: string): string {
  const text = readFileSync(path, 'utf8')
  return extname(path) === '.ts' ? stripTypeScriptTypes(text) : text
}
