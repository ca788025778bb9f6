/** An interface or a type alias of a declaration file. */
export type DeclaredType = {
  /** Name with its namespaces: `Tool.Mcp`. */
  readonly name: string
  readonly members: ReadonlyMap<string, string>
  /** Type expressions with further members: the types that an interface extends, or the type of an alias. */
  readonly parts: string
}

type Block = { readonly indent: number; readonly name: string; readonly members: Map<string, string> | null }

const OPENING = /^\s*(?:export )?(?:declare )?(namespace|interface) (\w+)(?:<[^>]*>)?(?: extends ([^{]+))?/
const ALIAS = /^\s*(?:export )?(?:declare )?type (\w+)(?:<[^>]*>)? = (.*)$/
const MEMBER = /^\s*(?:readonly )?'?([\w.$-]+)'?\??: (.*)$/

type Statement = {
  readonly kind: 'namespace' | 'interface' | 'alias' | 'member'
  readonly name: string
  /** The types that an interface extends, or the type of an alias or a member. */
  readonly type: string
}

/** Reads the declarations of one file in the layout of the SDKs: one member a line, nested blocks indented. */
export function readDeclaredTypes(text: string): readonly DeclaredType[] {
  const found: DeclaredType[] = []
  const open: Block[] = []
  for (const line of statementsOf(text)) {
    leave(open, line.search(/\S/))
    enter(open, line, found)
  }
  return found
}

function enter(open: Block[], line: string, found: DeclaredType[]): void {
  const { kind, name, type } = readStatement(line) ?? NO_STATEMENT
  if (kind === 'member') {
    open.at(-1)?.members?.set(name, type)
    return
  }
  const members = new Map<string, string>()
  if (kind !== 'namespace') found.push({ name: nameIn(open, name), members, parts: type })
  if (line.endsWith('{'))
    open.push({ indent: line.search(/\S/), name, members: kind === 'namespace' ? null : members })
}

/** Removes the blocks that a line of this indentation is not in. */
function leave(open: Block[], indent: number): void {
  while ((open.at(-1)?.indent ?? -1) >= indent) open.pop()
}

const NO_STATEMENT: Statement = { kind: 'namespace', name: '', type: '' }

function nameIn(open: readonly Block[], own: string): string {
  return [...open.map(({ name }) => name), own].join('.')
}

function readStatement(line: string): Statement | null {
  const [, kind, block = '', bases = ''] = OPENING.exec(line) ?? []
  if (kind === 'namespace' || kind === 'interface') return { kind, name: block, type: bases }
  const [, alias, body = ''] = ALIAS.exec(line) ?? []
  if (alias !== undefined) return { kind: 'alias', name: alias, type: body }
  const [, member, type = ''] = MEMBER.exec(line) ?? []
  return member === undefined ? null : { kind: 'member', name: member, type }
}

/** Parameters of the path, the query or the headers, which the SDKs declare beside members of the body. */
const NOT_IN_BODY = /\/\*\*\s*\*?\s*(?:Path|Query|Header) param: (?:(?!\*\/)[\s\S])*\*\/\s*[^\n;{]*;/g

/**
 * Returns the lines without comments and without parameters that are not in the body; a member or an alias that is
 * longer than a line is one.
 */
function statementsOf(text: string): readonly string[] {
  const statements: string[] = []
  let isOpen = false
  for (const line of text
    .replaceAll(NOT_IN_BODY, '')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .split('\n')) {
    if (line.trim() === '') continue
    if (isOpen) statements.push(`${statements.pop() ?? ''} ${line.trim()}`)
    else statements.push(line.trimEnd())
    isOpen = isUnfinished(statements.at(-1) ?? '')
  }
  return statements
}

/** True for a part of a member or an alias. The members of an alias of an object type are statements of their own. */
function isUnfinished(statement: string): boolean {
  if (statement.includes(';')) return false
  return MEMBER.test(statement) || (ALIAS.test(statement) && !statement.endsWith('{'))
}
