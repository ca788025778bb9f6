import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Loader, Plugin } from 'esbuild'

const IMPORT = /import\s*\{([^}]*)\}\s*from\s*(['"])(@mantine\/(?:core|hooks))\2;?/g
const INDEX_IMPORT = /import\s*\{([^}]*)\}\s*from\s*"(\.\/[^"]+)"/g

/**
 * Replaces each import from the index of a package with imports from the files of the imported components. Without the
 * replacement, the bundler puts the package into one chunk, and every page loads the components of all pages.
 */
export function directImports(packages: string): Plugin {
  const tables = new Map<string, ReadonlyMap<string, string>>()
  const tableOf = (name: string) => {
    const table = tables.get(name) ?? readIndex(join(packages, name, 'esm/index.mjs'))
    tables.set(name, table)
    return table
  }
  return {
    name: 'direct-imports',
    setup({ onLoad }) {
      onLoad(
        { filter: /(dashboard[\\/].*\.tsx?|@mantine[\\/]core[\\/]esm[\\/].*\.mjs)$/ },
        async ({ path }) => {
          const text = await readFile(path, 'utf8')
          const contents = text.replaceAll(IMPORT, (_, names: string, _quote: string, name: string) =>
            namesOf(names)
              .map(({ imported, local }) => lineFor(tableOf(name), name, imported, local))
              .join(''),
          )
          return { contents, loader: loaderOf(path) }
        },
      )
    },
  }
}

/** Parses the index of a package. Returns the file of each exported name. */
function readIndex(path: string): ReadonlyMap<string, string> {
  const text = readFileSync(path, 'utf8')
  return new Map(
    [...text.matchAll(INDEX_IMPORT)].flatMap(([, names = '', file = '']) =>
      namesOf(names).map(({ local }) => [local, join(dirname(path), file)] as const),
    ),
  )
}

/**
 * Returns the import of one name from its file. Returns an import from the index if the index itself renames or defines
 * the name. Returns an empty text for a type, which has no code.
 */
function lineFor(table: ReadonlyMap<string, string>, name: string, imported: string, local: string): string {
  const alias = imported === local ? local : `${imported} as ${local}`
  if (imported.startsWith('type ')) return ''
  return `import { ${alias} } from ${JSON.stringify(table.get(imported) ?? name)};`
}

function namesOf(list: string): { readonly imported: string; readonly local: string }[] {
  return list
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const [imported = '', local = imported] = part.split(/\s+as\s+/)
      return { imported, local }
    })
}

function loaderOf(path: string): Loader {
  if (path.endsWith('.tsx')) return 'tsx'
  return path.endsWith('.ts') ? 'ts' : 'js'
}
