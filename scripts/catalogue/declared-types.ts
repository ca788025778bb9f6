/** An interface or a type alias in a TypeScript declaration file. */
export type DeclaredType = {
  /** Name with its namespaces: `Tool.Mcp`. */
  readonly name: string
  readonly members: ReadonlyMap<string, string>
  /** Text of the types that contain further members: the types that an interface extends, or the type of an alias. */
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

/**
 * Parses the declarations of one file. The file must have the layout of the SDKs: each member begins on its own line,
 * and nested blocks are indented.
 */
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

/** Removes the open blocks that do not contain a line with this indentation. */
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

/**
 * Matches parameters of the path, the query or the headers, which the SDKs declare in the same type as the members of
 * the body.
 */
const NOT_IN_BODY = /\/\*\*\s*\*?\s*(?:Path|Query|Header) param: (?:(?!\*\/)[\s\S])*\*\/\s*[^\n;{]*;/g

/**
 * Returns the statements of a file, each on one line. Omits comments, and parameters that are not in the body. Joins
 * the lines of a member or an alias.
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

/**
 * Reports whether a member or an alias continues on the next line. The members of an object type in an alias are
 * separate statements.
 */
function isUnfinished(statement: string): boolean {
  if (statement.includes(';')) return false
  return MEMBER.test(statement) || (ALIAS.test(statement) && !statement.endsWith('{'))
}
