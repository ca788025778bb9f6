/** A command as a terminal without a person runs it. */
export type Unattended = { readonly command: string; readonly input: string }

/** Credentials by name of `credential set`. */
const SECRETS: Readonly<Record<string, string>> = {
  codehost: 'ghp_stored_0001',
  'llm-a': 'sk-stored-0002',
  'llm-b': 'sk-ant-stored-0003',
  payments: 'sk_test_stored_0006',
}

/** Arguments with which a program answers one prompt and ends, instead of opening its terminal interface. */
const ONE_PROMPT: Readonly<Record<string, string>> = {
  claude: '-p "$PROMPT" --dangerously-skip-permissions',
  codex: 'exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox "$PROMPT"',
}

/**
 * Returns the command of a document without its terminal: the secret on standard input, one prompt for an agent program, one
 * list instead of a stream. Throws for a command that needs more.
 */
export function unattended(command: string): Unattended {
  const secret = / credential set (\S+)$/.exec(command)?.[1]
  if (secret !== undefined) return { command, input: `${secretOf(secret)}\n` }
  const program = / run (?:.* )?-- (\S+)$/.exec(command)?.[1]
  if (program !== undefined) return { command: `${command} ${onePrompt(program)}`, input: '' }
  return {
    command: command.replace(/ traffic -f$/, ' traffic').replace(/ approvals watch$/, ' approvals ls'),
    input: '',
  }
}

function secretOf(name: string): string {
  const secret = SECRETS[name]
  if (secret === undefined) throw new Error(`no secret for the credential ${name}: add it to SECRETS`)
  return secret
}

function onePrompt(program: string): string {
  const words = ONE_PROMPT[program]
  if (words === undefined) throw new Error(`no single prompt for ${program}: add its arguments to ONE_PROMPT`)
  return words
}
