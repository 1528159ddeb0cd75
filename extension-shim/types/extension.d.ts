// The extension's own types, and its forms of values that the daemon passes on as they are. The frames are in
// protocol.d.ts, which is generated.

import type {
  AnnotationsFrame, CancelledFrame, CompleteFrame, EntryStamp, ErrorCode, ErrorFrame, EventsFrame, HeldDialog, NetworkEntry, ReportedError,
  StreamEntry, StreamKind, TimeoutFrame, UploadCopy,
} from './protocol.js';

/** Names one attempt of one command. */
export type AttemptRef = { correlation_id: string; attempt: number };

/** A failure with one of the codes that have a next step. */
export type ErrorBody = ReportedError & { code: ErrorCode };

/** `answer`: of one that was held. */
export type Dialog = { type: string; message: string; answer?: string };

/** The result of an action. `origin` is the page's, for results taken from a page. */
export type Outcome = { value: unknown; type: string; origin?: string; dialogs?: Dialog[]; notes?: ReportedNotes };

/**
 * What an answer says besides its value. `revived`: the page had been unloaded and was loaded anew; `input`: a frame of another
 * extension leaves the tab to scripts, for the reason `input_why`.
 */
export type ReportedNotes = { revived?: true; note?: string; input?: 'scripted'; input_why?: string };

/** A result as it is reported. */
export type ReportedResult = { success: true; value: unknown; type: string; dialogs?: Dialog[] } & Partial<ReportedNotes>;

/** The last word on an attempt: exactly one each, kept in the outbox until acknowledged. */
export type Report = CompleteFrame | ErrorFrame | TimeoutFrame | CancelledFrame;

/** A stream that is recorded on request. */
export type RecordedStream = Exclude<StreamKind, 'extension_logs'>;

/** Any entry. No `tab_id`: it is not of a tab. */
export type RecordedEntry = EntryStamp & { url: string };

/** A request that the debugger has named. */
export type RequestEntry = NetworkEntry & { request_id: string; method: string; page_url: string; resource_type: string };

/** Lost with the link, but for what was not yet sent. */
export type EntriesFrame = EventsFrame & { stream: RecordedStream; entries: StreamEntry[] };

/** In CSS pixels of the viewport. */
export type Box = { x: number; y: number; width: number; height: number };
export type Annotation = {
  /** Counted from 1 within the drawing. */
  id: number;
  kind: 'rectangle' | 'arrow' | 'freehand' | 'note';
  text?: string;
  box: Box;
  /** An arrow's two ends, or a line of at most 500 points. */
  points?: [number, number][];
  /** A key of `element_details`: the one that it is about. */
  element?: string;
  /** Keys of those that lie in it or within 10 px of it, the nearest first; at most 8. */
  elements?: string[];
};
export type ElementDetails = {
  selector: string;
  /** The frames and shadow hosts that it is in, the outermost first. */
  within?: string[];
  tag: string;
  role?: string;
  name?: string;
  /** At most 200 characters. */
  text: string;
  box: Box;
  /** As computed; on request. */
  styles?: Record<string, string>;
};
/** A drawing as the extension makes it. Kept until `annotations_ack`. */
export type DrawingFrame = Omit<AnnotationsFrame, 'annotations' | 'element_details'> & {
  annotations: Annotation[];
  element_details?: Record<string, ElementDetails>;
};

/** What an action is told besides its parameters. */
export type Context = {
  tab_id: number | undefined;
  timeout_ms: number;
  /** What the agent calls itself; empty: it does not say. */
  client: string;
  /** The client itself: several may have one name. */
  clientId: string;
  /** Whether it may see and use every tab. */
  seesAll: boolean;
  /** Whether it may see and use a tab. */
  sees: (tabId: number) => boolean;
  /** Whether it may not be told of a page of this address. */
  hides: (url: string) => boolean;
  /** It has opened a tab, which is its owner's from now on. */
  noteOpened: (tabId: number, so?: { isPrivate?: boolean }) => void;
  /** The owner for whom it may open private tabs. */
  privateOwner?: string;
  /** Aborted when nobody waits for the outcome any more. */
  signal: AbortSignal;
  /**
   * Called right before the first thing that the browser or the page could notice, and before each further one that
   * would come on top. Throws when nobody waits any more; a command that was cancelled before never ran.
   */
  begin: () => void;
  /** Throws if the person's rules forbid this act on a page of this address. Called when the page is known, before the act. */
  admitAct: (url: string) => void;
  /**
   * What is to be done before a timeout or a cancel is reported, once the action has begun something
   * that does not end by itself. Resolves to what the report adds, or to nothing.
   */
  onStop: (cleanUp: (why: StopReason) => Promise<string>) => void;
  /** Copies of files that the command names, for a page of this origin. */
  requestFiles: (paths: string[], site: string) => Promise<UploadCopy[]>;
  /** Whether dialogs stay open until they are answered. */
  holdsDialogs?: boolean;
  /** Whether the action that this one is a part of meets the dialogs of its tab. */
  hasDialogsMet?: boolean;
  /** Tells the daemon of the dialog that the command waits for; null: of none any more. */
  tellDialog: (dialog: HeldDialog | null) => void;
  /** Runs another action as a part of this command: the person's limits are asked anew, and its time is its own. */
  perform: (step: CommandStep) => Promise<Outcome>;
};

/** An action of several. */
export type CommandStep = { type: string; params: Record<string, any>; tab_id: number; timeout_ms: number };

/** Why nobody waits for an outcome any more. */
export type StopReason = 'timeout' | 'cancelled';

/** What runs now, for the popup. */
export type RunningCommand = { correlation_id: string; action: string; tab_id?: number; started_at: number; client: string };

/** What is recorded now, for the popup. */
export type RecordedTab = { tab_id: number; streams: RecordedStream[] };

export type Action = (params: Record<string, any>, context: Context) => Promise<Outcome>;
