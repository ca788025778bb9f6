import type { Command } from './command.ts'

type Load = () => Promise<Command>

/**
 * Every command by name, in the order of `chaperone --help`. The module of a command is loaded when the
 * command is used, so that a command does not load the sources of other commands.
 */
export const COMMANDS: ReadonlyMap<string, Load> = new Map<string, Load>([
  ['up', async () => (await import('./up/up.ts')).up],
  ['run', async () => (await import('./run/run.ts')).run],
  ['status', async () => (await import('./commands/status.ts')).status],
  ['explain', async () => (await import('./commands/explain.ts')).explain],
  ['traffic', async () => (await import('./commands/traffic.ts')).traffic],
  ['approvals', async () => (await import('./commands/approvals.ts')).approvals],
  ['login', async () => (await import('./sign-in/login.ts')).login],
  ['logout', async () => (await import('./sign-in/logout.ts')).logout],
  ['owner-link', async () => (await import('./sign-in/owner-link.ts')).ownerLink],
  ['user', async () => (await import('./commands/user.ts')).user],
  ['kill', async () => (await import('./commands/kill.ts')).kill],
  ['agent', async () => (await import('./commands/agent.ts')).agent],
  ['credential', async () => (await import('./commands/credential.ts')).credential],
  ['settings', async () => (await import('./commands/settings.ts')).settings],
  ['audit', async () => (await import('./commands/audit.ts')).audit],
  ['keys', async () => (await import('./keys/keys.ts')).keys],
  ['apply', async () => (await import('./manifests/apply.ts')).apply],
  ['get', async () => (await import('./commands/get.ts')).get],
  ['export', async () => (await import('./manifests/export.ts')).exportCommand],
  ['import', async () => (await import('./manifests/import.ts')).importCommand],
  ['policy', async () => (await import('./manifests/policy.ts')).policy],
  ['migrate', async () => (await import('./manifests/migrate.ts')).migrate],
  ['inject', async () => (await import('./manifests/inject.ts')).inject],
  ['catalogue', async () => (await import('./commands/catalogue.ts')).catalogue],
  ['backup', async () => (await import('./backup/backup.ts')).backup],
  ['restore', async () => (await import('./backup/restore.ts')).restore],
  ['trust', async () => (await import('./state/trust.ts')).trust],
  ['doctor', async () => (await import('./doctor/doctor.ts')).doctor],
  ['logs', async () => (await import('./commands/logs.ts')).logs],
  ['demo', async () => (await import('./demo/demo.ts')).demo],
  ['completion', async () => (await import('./completion/completion.ts')).createCompletion(() => COMMANDS)],
  ['cluster-setup', async () => (await import('./cluster/cluster-setup.ts')).clusterSetup],
])
