import { lazyComponent } from './components/lazy/lazy-component.tsx'

const load = async () => (await import('./dialogs.ts')).DIALOGS

export const AlwaysAllowDialog = lazyComponent(async () => (await load()).AlwaysAllowDialog)
export const DeactivateDialog = lazyComponent(async () => (await load()).DeactivateDialog)
export const GrantDialog = lazyComponent(async () => (await load()).GrantDialog)
export const HelpDialog = lazyComponent(async () => (await load()).HelpDialog)
export const NotifyDialog = lazyComponent(async () => (await load()).NotifyDialog)
export const ShortcutDialog = lazyComponent(async () => (await load()).ShortcutDialog)
export const KillSwitchDialog = lazyComponent(async () => (await load()).KillSwitchDialog)
export const CommandPalette = lazyComponent(async () => (await load()).CommandPalette)
