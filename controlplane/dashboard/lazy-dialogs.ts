import { lazily } from './components/lazy/lazy-component.tsx'

const load = async () => (await import('./dialogs.ts')).DIALOGS

export const AlwaysAllowDialog = lazily(async () => (await load()).AlwaysAllowDialog)
export const LiftDialog = lazily(async () => (await load()).LiftDialog)
export const ShortcutDialog = lazily(async () => (await load()).ShortcutDialog)
export const StopDialog = lazily(async () => (await load()).StopDialog)
