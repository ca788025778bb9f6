import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { writeDocs } from '../write-docs.ts'
import { type NavigationGroup, navigationOf } from './navigation.ts'

const SITE = import.meta.dirname
const STAMP = join(SITE, 'node_modules/.chaperone-installed')
const LOCK = join(SITE, 'package-lock.json')

/**
 * Builds the documentation as a site. VitePress is installed into `scripts/docs/site` at the first build, because `npm
 * start` does not need it. Throws if a link between pages is dead.
 */
export function buildSite(root: string, folder: string): void {
  install()
  const pages = join(root, 'node_modules/.cache/chaperone/docs-site')
  writeDocs(root, pages)
  const navigation = [...navigationOf(readFileSync(join(pages, 'README.md'), 'utf8')), generatedGroup(pages)]
  for (const name of readdirSync(pages)) if (name.endsWith('.md')) rewritePage(join(pages, name))
  mkdirSync(join(pages, 'public/schema'), { recursive: true })
  copyFileSync(join(pages, 'schema/manifest.schema.json'), join(pages, 'public/schema/manifest.schema.json'))
  mkdirSync(join(pages, '.vitepress'), { recursive: true })
  writeFileSync(join(pages, '.vitepress/config.mjs'), configText(navigation))
  rmSync(folder, { recursive: true, force: true })
  const program = join(SITE, 'node_modules/vitepress/bin/vitepress.js')
  execFileSync(process.execPath, [program, 'build', pages, '--outDir', folder], { stdio: 'inherit' })
}

function install(): void {
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === readFileSync(LOCK, 'utf8')) return
  console.error('chaperone: installing VitePress (once) ...')
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', args, { cwd: SITE, stdio: ['ignore', 'ignore', 'inherit'] })
  copyFileSync(LOCK, STAMP)
}

function generatedGroup(pages: string): NavigationGroup {
  const names = readdirSync(join(pages, 'actions')).filter((name) => name !== 'README.md')
  const items = names.sort().map((name) => name.replace(/\.md$/, ''))
  const groups = readdirSync(join(pages, 'http-api'))
    .sort()
    .map((name) => name.replace(/\.md$/, ''))
  return {
    text: 'Generated',
    items: [
      { text: 'HTTP API', link: '/http-api' },
      ...groups.map((name) => ({ text: `HTTP API: ${name}`, link: `/http-api/${name}` })),
      { text: 'Actions by connector', link: '/actions/' },
      ...items.map((name) => ({ text: name, link: `/actions/${name}` })),
    ],
  }
}

/**
 * Removes comments from a page. Replaces links to files outside of `docs/` with their text, because the site does not
 * have these files.
 */
function rewritePage(file: string): void {
  const text = readFileSync(file, 'utf8').replaceAll(/^<!--[^>]*-->\n/gm, '')
  const outside = new Set([...text.matchAll(/^\[([^\]]+)\]: \.\.\/.*$/gm)].map(([, name]) => name))
  const plain = text
    .replaceAll(/^\[[^\]]+\]: \.\.\/.*\n/gm, '')
    .replaceAll(/\[([^\]]+)\]\(\.\.\/[^)]*\)/g, '$1')
    .replaceAll(/\[([^\]]+)\](?:\[([^\]]+)\])?/g, (link, label: string, name: string = label) =>
      outside.has(name) ? label : link,
    )
  writeFileSync(file, plain)
}

function configText(navigation: readonly NavigationGroup[]): string {
  const config = {
    title: 'Chaperone',
    description: 'Governs what AI agents may do to the outside world',
    cleanUrls: false,
    rewrites: { 'README.md': 'index.md', 'actions/README.md': 'actions/index.md' },
    themeConfig: {
      sidebar: navigation.map((group) => ({ ...group, collapsed: false })),
      outline: [2, 3],
      search: { provider: 'local' },
    },
  }
  const slug = JSON.stringify(join(SITE, 'heading-slug.ts'))
  return [
    `import { headingSlug } from ${slug}`,
    `const config = ${JSON.stringify(config)}`,
    'export default { ...config, markdown: { html: false, anchor: { slugify: headingSlug } } }',
    '',
  ].join('\n')
}
