// The words on the wire. Generated from the Rust types of src/protocol/ and src/streams/:
// `UPDATE_DOCS=1 cargo test --lib generated` writes this file anew.

export * from './extension.js';

/** The first frame on a new connection. */
export type ChallengeFrame = {
  type: 'challenge';
  /** 32 random bytes in base64url. */
  nonce: string;
};

/** Proves that the daemon holds the key. The extension runs nothing before it. */
export type WelcomeFrame = {
  type: 'welcome';
  /** The protocol version both sides go on with. */
  protocol: number;
  /** Names this run of the daemon; a new epoch means that the daemon was restarted. */
  epoch: string;
  /** The daemon's version. */
  server_version: string;
  /** Whether the extension is newer than the daemon: its popup says so. */
  extension_newer?: boolean;
  /** How often `ping` comes, in milliseconds. */
  heartbeat_ms: number;
  /** What the extension should record. */
  capture: CaptureSettings;
  /** The proof, in base64url. */
  mac: string;
};

/** Asks for a command to be claimed, or, if it is safe, to be run. */
export type CommandFrame = {
  type: 'command';
  /** Which delivery this is. */
  attempt: Attempt;
  /** The command. */
  command: CommandBody;
};

/** The claim is recorded: begin now. */
export type GoFrame = {
  type: 'go';
  /** The claimed command. */
  correlation_id: CorrelationId;
  /** The claimed attempt. */
  attempt: Attempt;
};

/** Asks for a command to stop. The extension reports `cancelled` if it could stop the command, or else its result. */
export type CancelFrame = {
  type: 'cancel';
  /** The command to stop. */
  correlation_id: CorrelationId;
  /** Why. */
  reason: CancelReason;
};

/** The report is recorded; it may leave the outbox. */
export type ResultAckFrame = {
  type: 'result_ack';
  /** The reported command. */
  correlation_id: CorrelationId;
  /** The reported attempt. */
  attempt: Attempt;
};

/** The drawing is kept and need not be sent again, or the reason why it is not kept. */
export type AnnotationsAckFrame = {
  type: 'annotations_ack';
  /** The drawing. */
  drawing_id: DrawingId;
  /** Why it is not kept. */
  error?: DrawingRefusal;
};

/** Nobody waits for these drawings any more. Drawing tools that are open for no other wait close, unless the person has drawn already. */
export type AnnotationsOverFrame = {
  type: 'annotations_over';
  /** The waits that the tools were opened for. */
  correlation_ids: CorrelationId[];
};

/** A frame from the extension does not count. */
export type NackFrame = {
  type: 'nack';
  /** The command it was about, if it named one. */
  correlation_id?: CorrelationId;
  /** The attempt it was about, if it named one. */
  attempt?: Attempt;
  /** Why. */
  reason: NackReason;
};

/** The capture settings have changed. */
export type CaptureFrame = {
  type: 'capture';
  /** What to record from now on. */
  capture: CaptureSettings;
};

/** The site rules: before the first command, and after every change. */
export type SiteRulesFrame = {
  type: 'site_rules';
  allow: SitePattern[];
  deny: SitePattern[];
  agent_deny?: SitePattern[];
  read?: SitePattern[];
  deny_actions?: ActionDenial[];
  ask?: SitePattern[];
  /** Absent until somebody has chosen it. */
  default?: SiteDefault;
  /** Why the person's last change in this browser was rejected. */
  problem?: string;
};

/** The older extensions that ask to be let in and those that are: after `ready`, and after every change. */
export type OlderExtensionsFrame = {
  type: 'older_extensions';
  /** Extensions that ask to be let in. */
  asking: AskingExtension[];
  /** Extensions that are let in. */
  let_in: AdmittedExtension[];
  /** Why the person's last decision in the browser does not count. */
  problem?: string;
};

/** All widenings that no person has confirmed yet: after `ready` if there are any, and after every change. */
export type WideningsFrame = {
  type: 'widenings';
  /** Oldest first. */
  widenings: UnconfirmedWidening[];
};

/** All tabs of this browser that clients hold: after `ready` if there are any, and after every change. */
export type HeldTabsFrame = {
  type: 'held_tabs';
  /** In the order of their numbers. */
  held: HeldTab[];
};

/** All tabs of this browser that clients opened and the person has not made their own: after `ready` if there are any, and after every change. */
export type OpenedTabsFrame = {
  type: 'opened_tabs';
  /** In the order of their numbers. */
  opened: AgentTab[];
};

/** The clients that opened these tabs have ended a while ago: close them, but those that the person uses. */
export type CloseTabsFrame = {
  type: 'close_tabs';
  /** In the order of their numbers. */
  tab_ids: TabId[];
};

/** The clients of these have ended, or may not use the tab any more: what they have changed about the tabs is to be put back. */
export type PageStatesOverFrame = {
  type: 'page_states_over';
  /** As the extension reported them. */
  states: PageState[];
};

/** All questions of agents that wait for the person's answer: after `ready` if there are any, and after every change. */
export type AsksFrame = {
  type: 'asks';
  /** Oldest first. */
  asks: OpenAsk[];
};

/** The person's kept words on acts of agents: the answer to `kept_words`, once it is recorded. */
export type KeptWordsFrame = {
  type: 'kept_words';
  /** The newest first, at most `KEPT_WORDS_SHOWN`. */
  words: KeptWord[];
  /** How many older ones there are. */
  more: number;
};

/** The owners on other machines that have calls, were seen since the daemon started, or are disconnected: the answer to `far_owners`. */
export type FarOwnersFrame = {
  type: 'far_owners';
  /** In the order in which they were added. */
  owners: FarOwner[];
  /** The teams whose calls do not go as they should. */
  troubles?: TenantTrouble[];
  /** Why the person's change does not count. */
  problem?: string;
};

/** The last acts of agents, for the person: the answer to `history`. */
export type HistoryFrame = {
  type: 'history';
  /** Whether acts are kept. */
  on: boolean;
  /** The newest first, at most ten. */
  acts: PastAct[];
  /** Why the person's wish was not carried out. */
  problem?: string;
};

/** The extension's files on the disk are not the ones that Tabwire put there, so the extension gets no commands. Comes after `ready`. */
export type ExtensionChangedFrame = {
  type: 'extension_changed';
};

/** The folder of the extension holds the files of another version, each of them as this program has it: the extension loads itself anew, once nothing runs. After `ready`, or when the folder was renewed; at most once for each browser in a run of the daemon. */
export type ReloadFrame = {
  type: 'reload';
  /** The version in the folder. */
  version: string;
};

/** The folders whose files agents may open: before the first command, and after every change. */
export type LocalFilesFrame = {
  type: 'local_files';
  /** False: agents open no local file, also in the listed folders. */
  enabled: boolean;
  /** Absolute paths without links. */
  folders: string[];
  /** Why the person's last change in this browser was rejected. */
  problem?: string;
};

/** This browser's name: after `ready` if there is anything to say of it, and after every change. */
export type BrowserNameFrame = {
  type: 'browser_name';
  /** The name that the person has given. */
  name?: BrowserName;
  /** What agents call it, with or without a name. */
  label: string;
  /** Whether other browsers are connected, so that a name tells them apart. */
  others: boolean;
  /** The name of the profile in the browser itself, to offer it to a person who gives none. */
  offered?: BrowserName;
  /** Why the person's last name in this browser was rejected. */
  problem?: string;
};

/** The answer to `file_check`. */
export type FileVerdictFrame = {
  type: 'file_verdict';
  /** What `file_check` carried. */
  check: number;
  /** For each URL in its order whether agents may see the file. */
  admitted: boolean[];
};

/** The answer to `upload_request`: copies of all the files, or the reason why there are none. */
export type UploadCopiesFrame = {
  type: 'upload_copies';
  /** What `upload_request` carried. */
  request: number;
  /** The copies, in the order of the paths. */
  files: UploadCopy[];
  /** After a look: the files that the person is to be asked about. */
  asks?: AskedFile[];
  /** Why there are none. */
  error?: UploadRefusal;
};

/** Shows that the daemon is alive. It is a data frame because WebSocket pings do not keep the extension's worker alive. */
export type PingFrame = {
  type: 'ping';
  /** Unix time in milliseconds; comes back in `pong`. */
  t: number;
};

/** The daemon sends these frames. */
export type ToExtension = 
  | ChallengeFrame
  | WelcomeFrame
  | CommandFrame
  | GoFrame
  | CancelFrame
  | ResultAckFrame
  | AnnotationsAckFrame
  | AnnotationsOverFrame
  | NackFrame
  | CaptureFrame
  | SiteRulesFrame
  | OlderExtensionsFrame
  | WideningsFrame
  | HeldTabsFrame
  | OpenedTabsFrame
  | CloseTabsFrame
  | PageStatesOverFrame
  | AsksFrame
  | KeptWordsFrame
  | FarOwnersFrame
  | HistoryFrame
  | ExtensionChangedFrame
  | ReloadFrame
  | LocalFilesFrame
  | BrowserNameFrame
  | FileVerdictFrame
  | UploadCopiesFrame
  | PingFrame;

/** The answer to `challenge`. */
export type HelloFrame = {
  type: 'hello';
  /** The protocol versions that it speaks. */
  protocol: number[];
  /** The installation. */
  browser_id: BrowserId;
  /** This run of the worker. */
  instance_id: InstanceId;
  /** The extension's version. */
  extension_version: string;
  /** 32 random bytes in base64url. */
  nonce: string;
  /** The proof, in base64url. */
  mac: string;
};

/** The answer to a valid `welcome`; commands are delivered from here on. */
export type ReadyFrame = {
  type: 'ready';
  /** The browser's name for people. */
  label: string;
  /** The browser's user agent. */
  user_agent: string;
  /** The names of the actions that it can run. */
  actions: string[];
  /** Which run of the browser this is. Older extensions do not say. */
  session?: BrowserSession;
  /** All tabs. */
  tabs: BrowserTab[];
  /** The commands that it has not finished, or whose reports are not acknowledged. */
  in_flight: InFlight[];
  /** The waits that drawing tools are open for. Older extensions do not say. */
  draws_for?: CorrelationId[];
  /** Whether it enforces which sites may be used. Older extensions do not say. */
  site_rules?: boolean;
  /** Whether it enforces rules about acts: sites that agents may only read, and denied actions. */
  act_rules?: boolean;
  /** Whether it asks the person before a client acts, where the rules say so. */
  asks_first?: boolean;
  /** Whether it keeps a command to the tabs that the command's frame names. */
  tab_scopes?: boolean;
  /** Whether the person can do steps alone in it. */
  hands_over?: boolean;
  /** Whether the person has stopped everything in this browser. Older extensions do not say. */
  stopped?: boolean;
  /** Whether it shows the person which extensions that only poll ask to be let in. */
  older_extensions?: boolean;
  /** Whether the person can name the browser in it. Older extensions do not say. */
  names?: boolean;
  /** Whether it keeps private tabs to the owner who opened them. Older extensions do not say. */
  private_tabs?: boolean;
  /** Whether it asks the person about each site before it lets a program on another machine open, read or use it. Older extensions do not say. */
  far_owners?: boolean;
  /** The tabs that the person shares with agents. Older extensions share none. */
  shared_tabs?: TabId[];
};

/** The extension is about to run a command and waits for `go`. */
export type ClaimFrame = {
  type: 'claim';
  /** The command. */
  correlation_id: CorrelationId;
  /** The attempt. */
  attempt: Attempt;
};

/** The extension has not begun a command, which needs the person's word, and forgets it. */
export type HoldFrame = {
  type: 'hold';
  /** The command. */
  correlation_id: CorrelationId;
  /** The attempt. */
  attempt: Attempt;
  /** What it needs the person's word for. */
  need: ConsentNeed;
};

/** The tab of a running command as it looks before or after it, for the person alone. */
export type ActPictureFrame = {
  type: 'act_picture';
  /** The command. */
  correlation_id: CorrelationId;
  /** When it was taken. */
  moment: ActMoment;
  /** A JPEG, in base64. */
  jpeg: string;
};

/** Entries of a stream, in batches. */
export type EventsFrame = {
  type: 'events';
  /** The stream's name; a newer extension may have streams that we do not know. */
  stream: string;
  /** The entries. */
  entries: unknown[];
};

/** A person's drawing, or the news that they drew nothing. The extension keeps it until it is acknowledged. */
export type AnnotationsFrame = Drawing & {
  type: 'annotations';
};

/** The tabs have changed. */
export type TabsFrame = {
  type: 'tabs';
  /** All tabs. */
  tabs: BrowserTab[];
};

/** All tabs that clients have changed by more than acts in their pages: after `ready`, and after every change. */
export type PageStatesFrame = {
  type: 'page_states';
  /** In the order in which they were changed. */
  states: PageState[];
};

/** The person ends a command. */
export type StopFrame = {
  type: 'stop';
  /** The command. */
  correlation_id: CorrelationId;
};

/** The person has stopped everything in this browser, or lets agents go on. */
export type StoppedFrame = {
  type: 'stopped';
  /** Whether everything is stopped. */
  stopped: boolean;
};

/** The person changes which sites may be used. */
export type SiteRuleFrame = SiteChange & {
  type: 'site_rule';
};

/** The person decides whether an older extension, one that only polls, is let in. */
export type OlderExtensionFrame = OlderExtensionChange & {
  type: 'older_extension';
};

/** The person confirms a widening. */
export type ConfirmWideningFrame = {
  type: 'confirm_widening';
  /** Which. */
  id: string;
};

/** The person names this browser's profile. */
export type NameBrowserFrame = {
  type: 'name_browser';
  /** The name. */
  name: string;
};

/** The person takes a tab back from the client that holds it. */
export type TakeTabFrame = {
  type: 'take_tab';
  /** The tab. */
  tab_id: TabId;
};

/** A running command has opened a tab. */
export type TabOpenedFrame = {
  type: 'tab_opened';
  /** The command. */
  correlation_id: CorrelationId;
  /** The tab. */
  tab_id: TabId;
  /** Whether it is in a private window. */
  private?: boolean;
};

/** The page of a tab has opened another tab, or a window. */
export type TabCreatedFrame = {
  type: 'tab_created';
  /** The tab of the page. */
  source_tab_id: TabId;
  /** The new tab. */
  tab_id: TabId;
};

/** The person shares these tabs, and no others, with agents that see shared tabs. */
export type SharedTabsFrame = {
  type: 'shared_tabs';
  /** The tabs. */
  tab_ids: TabId[];
};

/** A tab that a client opened is the person's from now on: they said so, or have used, moved or pinned it, or its page asks before it is closed. Or they have used a tab of theirs that a client holds. */
export type KeepTabFrame = {
  type: 'keep_tab';
  /** The tab. */
  tab_id: TabId;
};

/** Tabs that clients opened in the browser's former run and that it has brought back: they stood in a group of the extension's own, show the same address, and nobody has touched them. */
export type RestoredTabsFrame = {
  type: 'restored_tabs';
  /** The tabs. */
  restored: RestoredTab[];
};

/** The person answers a question of an agent. */
export type AskAnswerFrame = {
  type: 'ask_answer';
  /** The question. */
  correlation_id: CorrelationId;
  /** The answer. */
  answer: AskAnswer;
};

/** The person opens the history of agents' acts, or changes whether acts are kept. */
export type ExtensionHistoryFrame = {
  type: 'history';
  /** What they want with it. */
  wish: HistoryWish;
};

/** The person looks at the kept words on acts of agents, or takes one back. */
export type ExtensionKeptWordsFrame = {
  type: 'kept_words';
  /** The word that they take back. */
  take_back?: WordTakenBack;
};

/** The person looks at the owners on other machines, disconnects one, or lets it in again. */
export type ExtensionFarOwnersFrame = FarOwnerWish & {
  type: 'far_owners';
};

/** The person changes which local files agents may open. */
export type LocalFileRuleFrame = LocalFileChange & {
  type: 'local_file_rule';
};

/** May agents see these local files? Asked before a page that shows one is touched, and before anything of it is handed out. */
export type FileCheckFrame = {
  type: 'file_check';
  /** Comes back in `file_verdict`. */
  check: number;
  /** At most `FILE_CHECK_MAX`, as the URL parser writes them. */
  urls: string[];
};

/** Asks for copies of the files that a running command gives to a page. */
export type UploadRequestFrame = UploadRequest & {
  type: 'upload_request';
};

/** The key that its `config.json` holds is in the extension's own storage. */
export type KeyStoredFrame = {
  type: 'key_stored';
};

/** A frame of the daemon does not count, as one of an unknown type. */
export type ExtensionNackFrame = {
  type: 'nack';
  /** Why it does not count. */
  reason: NackReason;
};

/** The answer to `ping`. */
export type PongFrame = {
  type: 'pong';
  /** What `ping` carried. */
  t: number;
};

/** It still runs. */
export type PendingFrame = {
  type: 'pending';
  /** Its present step. */
  message?: string;
  /** How far it is, from 0 to 1. */
  progress?: number;
  /** The dialog that it waits for. */
  dialog?: HeldDialog;
  /** The command. */
  correlation_id: CorrelationId;
  /** The attempt. */
  attempt: Attempt;
};

/** It is done. */
export type CompleteFrame = {
  type: 'complete';
  /** The result, kept byte for byte. */
  result: unknown;
  /** The origin of the page that it came from. */
  origin?: string;
  /** The command. */
  correlation_id: CorrelationId;
  /** The attempt. */
  attempt: Attempt;
};

/** It failed. */
export type ErrorFrame = {
  type: 'error';
  /** How. */
  error: ReportedError;
  /** The command. */
  correlation_id: CorrelationId;
  /** The attempt. */
  attempt: Attempt;
};

/** The extension's own clock ran out. */
export type TimeoutFrame = {
  type: 'timeout';
  /** How. */
  error: ReportedError;
  /** The command. */
  correlation_id: CorrelationId;
  /** The attempt. */
  attempt: Attempt;
};

/** It was stopped. */
export type CancelledFrame = {
  type: 'cancelled';
  /** Whether it may have begun in the page. */
  may_have_run: boolean;
  /** The command. */
  correlation_id: CorrelationId;
  /** The attempt. */
  attempt: Attempt;
};

/** The extension sends these frames. */
export type FromExtension = 
  | HelloFrame
  | ReadyFrame
  | ClaimFrame
  | HoldFrame
  | ActPictureFrame
  | EventsFrame
  | AnnotationsFrame
  | TabsFrame
  | PageStatesFrame
  | StopFrame
  | StoppedFrame
  | SiteRuleFrame
  | OlderExtensionFrame
  | ConfirmWideningFrame
  | NameBrowserFrame
  | TakeTabFrame
  | TabOpenedFrame
  | TabCreatedFrame
  | SharedTabsFrame
  | KeepTabFrame
  | RestoredTabsFrame
  | AskAnswerFrame
  | ExtensionHistoryFrame
  | ExtensionKeptWordsFrame
  | ExtensionFarOwnersFrame
  | LocalFileRuleFrame
  | FileCheckFrame
  | UploadRequestFrame
  | KeyStoredFrame
  | ExtensionNackFrame
  | PongFrame
  | PendingFrame
  | CompleteFrame
  | ErrorFrame
  | TimeoutFrame
  | CancelledFrame;

/** The fields of every entry. */
export type EntryStamp = {
  t: number;
  /** A tab as the browser numbers it. */
  tab_id?: number;
};

export type LogEntry = EntryStamp & ConsoleLine;

export type NetworkEntry = EntryStamp & NetworkRequest;

export type BodyEntry = EntryStamp & RequestBodies;

export type SocketEntry = EntryStamp & SocketEvent;

export type ActionEntry = EntryStamp & UserAction;

export type PerformanceEntry = EntryStamp & PagePerformance;

export type ExtensionLogEntry = EntryStamp & ExtensionLog;

/** An entry of any stream. */
export type StreamEntry = 
  | LogEntry
  | NetworkEntry
  | BodyEntry
  | SocketEntry
  | ActionEntry
  | PerformanceEntry
  | ExtensionLogEntry;

/** The parameters of each action. */
export type ActionParams = {
  /** Runs JavaScript in the page; gives its value. */
  execute_js: {
    /** Expression or statements; return, await, tabwireSignal work. */
    script: string;
    /** Run as if the user had clicked. */
    user_gesture?: boolean;
  };
  /** Opens a URL and waits. */
  navigate: {
    /** URL: http, https, file or about:blank. */
    url: string;
    /** To the front. */
    focus?: boolean;
  };
  /** Reloads the page. */
  refresh: Record<string, never>;
  /** Goes one page back. */
  back: Record<string, never>;
  /** Goes one page on. */
  forward: Record<string, never>;
  /** URL and title. */
  page_info: Record<string, never>;
  /** Lists the tabs. */
  tab_list: Record<string, never>;
  /** Opens a tab; later calls use it. */
  tab_open: {
    /** Else: blank. */
    url?: string;
    /** To the front. */
    focus?: boolean;
    /** Others may act. */
    share?: boolean;
    /** Stays after you. */
    keep?: boolean;
    /** Private window. */
    private?: boolean;
  };
  /** Closes the tab, also a stuck one. */
  tab_close: Record<string, never>;
  /** Shows the tab. */
  tab_activate: {
    /** Bring its window to the front, too. */
    focus?: boolean;
  };
  /** Takes a picture. */
  screenshot: {
    /** Only this element: ref, selector, text= or role=. */
    target?: string;
    /** Draw each button, link and field's ref on it. */
    marks?: boolean;
    /** Picture the whole page, not only the view. */
    full_page?: boolean;
    /** Picture format; default png. */
    format?: 'png' | 'jpeg' | 'webp';
    /** Longest side in px; default 1568. */
    max_side?: number;
  };
  /** Saves the page as PDF. */
  pdf: {
    /** Landscape pages; default portrait. */
    landscape?: boolean;
    /** Scale from 0.1 to 2; default 1. */
    scale?: number;
    /** Pages to print, such as 1-3,5; default all. */
    page_ranges?: string;
  };
  /** Opens the drawing tools in the page. */
  draw_mode: {
    /** The wait that is to be answered. */
    correlation_id: string;
    /** The session that the drawing belongs to. */
    session?: string;
    /** Whether elements are described with their computed styles. */
    styles?: boolean;
    /** The words in which the person is asked to draw. */
    prompt?: string;
  };
  /** Elements by CSS selector. */
  dom: {
    /** CSS selector; reaches shadow roots and frames. */
    selector: string;
    /** Most elements; default 20. */
    limit?: number;
  };
  /** Accessibility tree. */
  accessibility: {
    /** CSS selector of the root; default the page. */
    selector?: string;
    /** Most levels; default all. */
    depth?: number;
  };
  /** Headings, forms, buttons, links, text. */
  page_summary: Record<string, never>;
  /** Load times and layout shifts. */
  performance: Record<string, never>;
  /** Performance trace: start, load a page or act, stop: tells the largest costs. */
  trace: {
    /** Start or stop the trace of this tab. */
    phase: 'start' | 'stop';
  };
  /** Records your or the user's acts. */
  record: {
    /** Start or stop. */
    phase: 'start' | 'stop';
    /** With stop: batch (default, for run), playwright or call (a shell script). */
    as?: 'batch' | 'playwright' | 'call';
    /** With start: agent (default), or person, who is asked first. */
    by?: 'agent' | 'person';
  };
  /** Accessibility problems, by axe-core. */
  audit: {
    /** Part of the page: a ref, selector, text= or role=; default the page. */
    target?: string;
    /** Only these axe rules, such as color-contrast. */
    rules?: string[];
    /** Only axe rules with one of these tags, such as wcag2aa; default all but experimental ones. */
    tags?: string[];
    /** Longest answer in bytes; default 10000. */
    max_bytes?: number;
  };
  /** Form fields: label, type, value, errors; refs for `fill_form`. */
  forms: {
    /** Part of the page: a ref, selector, text= or role=; default the page. */
    target?: string;
    /** Longest answer in bytes; default 10000. */
    max_bytes?: number;
  };
  /** Page as text, with refs (b12) as targets. */
  snapshot: {
    /** Root: a ref, selector, text= or role=; default the page. */
    target?: string;
    /** Only buttons, links and fields. */
    interactive_only?: boolean;
    /** Most levels; default all. */
    depth?: number;
    /** Longest answer in bytes; default 10000. */
    max_bytes?: number;
    /** Add boxes in CSS px. */
    boxes?: boolean;
    /** Only changes since your last snapshot. */
    diff?: boolean;
    /** Add the URLs of links. */
    urls?: boolean;
  };
  /** Finds elements; gives refs. */
  find: {
    /** Visible text, in part. */
    text?: string;
    /** ARIA role, such as button. */
    role?: string;
    /** Accessible name, in part. */
    name?: string;
    /** Label of a field, in part. */
    label?: string;
    /** Placeholder of a field, in part. */
    placeholder?: string;
    /** Value of data-testid. */
    testid?: string;
    /** Compare whole texts and case. */
    exact?: boolean;
    /** Most elements; default 10. */
    limit?: number;
  };
  /** Visible text. */
  get_text: {
    /** Root: a ref, selector, text= or role=; default the page. */
    target?: string;
  };
  /** Main content as Markdown. */
  get_markdown: {
    /** Root: a ref, selector, text= or role=; default the page. */
    target?: string;
  };
  /** HTML of an element. */
  get_html: {
    /** Element: a ref (b12), CSS selector, text=, role= or label=. */
    target: string;
    /** Element in human words; only for the record. */
    element?: string;
  };
  /** Value of a field. */
  get_value: {
    /** Element: a ref (b12), CSS selector, text=, role= or label=. */
    target: string;
    /** Element in human words; only for the record. */
    element?: string;
  };
  /** Attributes of an element. */
  get_attributes: {
    /** Element: a ref (b12), CSS selector, text=, role= or label=. */
    target: string;
    /** Element in human words; only for the record. */
    element?: string;
    /** Attributes to tell; default all. */
    names?: string[];
  };
  /** Clicks an element or a point. */
  click: {
    /** Element: a ref (b12), CSS selector, text=, role= or label=. */
    target?: string;
    /** Element in human words; only for the record. */
    element?: string;
    /** Point: px from the left; with `in`, of that picture. */
    x?: number;
    /** Point in place of target: px from the top. */
    y?: number;
    /** Picture whose pixels the point is in: `in` of its answer. */
    in?: string;
    /** Mouse button; default left. */
    button?: 'left' | 'right' | 'middle';
    /** Click twice. */
    doubleClick?: boolean;
    /** Keys held during the click. */
    modifiers?: ('Alt' | 'Control' | 'ControlOrMeta' | 'Meta' | 'Shift')[];
    /** How long the button stays down, in ms. */
    hold_ms?: number;
    /** none: act at once, also on a moving element. */
    wait?: 'ready' | 'none';
    /** Add the page after it: true or "diff". */
    snapshot?: true | false | 'diff';
  };
  /** Hovers over an element or a point. */
  hover: {
    /** Element: a ref (b12), CSS selector, text=, role= or label=. */
    target?: string;
    /** Element in human words; only for the record. */
    element?: string;
    /** Point: px from the left; with `in`, of that picture. */
    x?: number;
    /** Point in place of target: px from the top. */
    y?: number;
    /** Picture whose pixels the point is in: `in` of its answer. */
    in?: string;
    /** Add the page after it: true or "diff". */
    snapshot?: true | false | 'diff';
  };
  /** Scrolls the page or an element. */
  scroll: {
    /** Element to show, or with a distance to scroll. */
    target?: string;
    /** Scroll by one view this way. */
    direction?: 'up' | 'down' | 'left' | 'right';
    /** Distance to the right in CSS px. */
    dx?: number;
    /** Distance down in CSS px. */
    dy?: number;
    /** End to scroll to. */
    to?: 'top' | 'bottom';
    /** Scroll down until this text appears. */
    until_text?: string;
  };
  /** Drags and drops. */
  drag: {
    /** Element to drag: a ref or selector. */
    startTarget?: string;
    /** Dragged element in human words; only for the record. */
    startElement?: string;
    /** Start of the drag: px from the left. */
    startX?: number;
    /** Start of the drag: px from the top. */
    startY?: number;
    /** Element to drop onto: a ref or selector. */
    endTarget?: string;
    /** Element to drop onto in human words; only for the record. */
    endElement?: string;
    /** End of the drag: px from the left. */
    endX?: number;
    /** End of the drag: px from the top. */
    endY?: number;
    /** Picture whose pixels the points are in: `in` of its answer. */
    in?: string;
    /** Pointer moves on the way; default 10. */
    moves?: number;
    /** Add the page after it: true or "diff". */
    snapshot?: true | false | 'diff';
  };
  /** Draws with the pointer. */
  draw: {
    /** Element to draw on; default the view. */
    target?: string;
    /** Points [[x, y], …] in CSS px. */
    points: ([number, number])[];
    /** Picture whose pixels the points are in: `in` of its answer. */
    in?: string;
  };
  /** Gives files to the page. */
  upload_file: {
    /** Element: a ref (b12), CSS selector, text=, role= or label=. */
    target: string;
    /** Element in human words; only for the record. */
    element?: string;
    /** Files to give: absolute paths. */
    paths: string[];
    /** Drop the files onto the element. */
    drop?: boolean;
  };
  /** Types text into a field. */
  type: {
    /** Field: a ref, selector or label=; default the focused one. */
    target?: string;
    /** Field in human words; only for the record. */
    element?: string;
    /** Text to type. */
    text: string;
    /** Press Enter afterwards. */
    submit?: boolean;
    /** Empty the field first. */
    clear?: boolean;
    /** Type key by key. */
    slowly?: boolean;
    /** Add the page after it: true or "diff". */
    snapshot?: true | false | 'diff';
  };
  /** Presses keys. */
  press_key: {
    /** Key or chord: Enter, a, Control+a. */
    key?: string;
    /** Keys or chords to press one after the other. */
    keys?: string[];
    /** Element to focus first; default the focused one. */
    target?: string;
    /** Add the page after it: true or "diff". */
    snapshot?: true | false | 'diff';
  };
  /** Selects in a list. */
  select_option: {
    /** Element: a ref (b12), CSS selector, text=, role= or label=. */
    target: string;
    /** Element in human words; only for the record. */
    element?: string;
    /** Values or labels to select. */
    values: string[];
    /** Add the page after it: true or "diff". */
    snapshot?: true | false | 'diff';
  };
  /** Ticks a checkbox or radio. */
  check: {
    /** Element: a ref (b12), CSS selector, text=, role= or label=. */
    target: string;
    /** Element in human words; only for the record. */
    element?: string;
    /** Add the page after it: true or "diff". */
    snapshot?: true | false | 'diff';
  };
  /** Unticks a checkbox. */
  uncheck: {
    /** Element: a ref (b12), CSS selector, text=, role= or label=. */
    target: string;
    /** Element in human words; only for the record. */
    element?: string;
    /** Add the page after it: true or "diff". */
    snapshot?: true | false | 'diff';
  };
  /** Fills fields of any kind. */
  fill_form: {
    /** [{target, value}]: dates as 2026-11-23, ticks as true or false. */
    fields: ({
      /** Field: a ref, CSS selector or label=. */
      target: string;
      /** Field in human words; only for the record. */
      element?: string;
      /** Field in human words; only for the record. */
      name?: string;
      /** Kind of field, such as textbox or checkbox: the page knows it. */
      type?: string;
      /** New value: a text, a number, true or false. */
      value: unknown;
    })[];
    /** Submit the form afterwards. */
    submit?: boolean;
    /** Add the page after it: true or "diff". */
    snapshot?: true | false | 'diff';
  };
  /** Copies and pastes with a clipboard of your own. */
  clipboard: {
    /** What to do: copy or cut the selection or the target, paste, or read or write this clipboard. */
    operation: 'copy' | 'cut' | 'paste' | 'read' | 'write';
    /** Element to focus first; default the focused one. */
    target?: string;
    /** Text to write. */
    text?: string;
  };
  /** Waits for a state. */
  wait_for: {
    /** Text that must appear. */
    text?: string;
    /** Text that must disappear. */
    textGone?: string;
    /** Element that must be visible. */
    target?: string;
    /** Element that must be gone. */
    gone?: string;
    /** URL that the tab must reach: a part, or a pattern with *. */
    url?: string;
    /** Load state to wait for. */
    state?: 'load' | 'domcontentloaded' | 'networkidle';
    /** JavaScript expression or function that must become true. */
    function?: string;
    /** Wait for a download to finish. */
    download?: boolean;
    /** Milliseconds to wait. */
    time?: number;
  };
  /** Runs actions until one fails. */
  batch: {
    /** [{action, …, as?}]: later steps use {{as.path}} of earlier results. */
    steps: ({
      /** Name of the action. */
      action: string;
      /** Name under which later steps use its result. */
      as?: string;
    } & Record<string, unknown>)[];
  };
  /** The page's tools. */
  page_tools: Record<string, never>;
  /** Calls a page's tool. */
  call_page_tool: {
    /** Name of the page's tool. */
    name: string;
    /** Document id from page_tools. */
    document: string;
    /** Hash of the definition from page_tools. */
    hash: string;
    /** Arguments of the page's tool. */
    arguments?: Record<string, unknown>;
  };
  /** Answers a held dialog. */
  dialog: {
    /** What to do with it. */
    operation: 'accept' | 'dismiss';
    /** Text for a prompt. */
    text?: string;
    /** Name for HTTP authentication. */
    username?: string;
    /** Password for HTTP authentication; never recorded. */
    password?: string;
    /** Files for a file chooser: absolute paths. */
    paths?: string[];
  };
  /** Downloads of your acts. */
  downloads: {
    /** What to do; wait: until it has ended. */
    operation: 'list' | 'wait' | 'cancel';
    /** Id of the download; default the newest. */
    download_id?: number;
  };
  /** Emulates a device, place or network. */
  emulate: {
    /** Size in CSS px, 390x844, and with @2 the ratio of pixels. */
    viewport?: string;
    /** Size, touch and user agent of a device. */
    device?: 'iphone' | 'ipad' | 'android_phone' | 'android_tablet';
    /** Whether the screen can be touched. */
    touch?: boolean;
    /** Colors that the page is asked for. */
    color_scheme?: 'light' | 'dark';
    /** Whether the page is asked to move little. */
    reduced_motion?: boolean;
    /** Language and country, such as de-DE. */
    locale?: string;
    /** Time zone, such as Europe/Berlin. */
    timezone?: string;
    /** Latitude and longitude, such as 52.52,13.40. */
    geolocation?: string;
    /** Speed of the network. */
    network?: 'offline' | 'slow_3g' | 'fast_3g' | 'slow_4g' | 'fast_4g' | 'full';
    /** How many times slower scripts run, 1 to 20. */
    cpu_slowdown?: number;
    /** Puts all back first. */
    reset?: boolean;
  };
  /** Frames an element for the user. */
  highlight: {
    /** Element to show; default none, which ends it. */
    target?: string;
    /** For how long in ms; default 5000. */
    duration_ms?: number;
  };
  /** Blocks or changes requests. */
  network_rules: {
    /** All rules, [] ends them; each {url: part of it or a pattern with * and **} and block: true, answer: {body, type, status} or headers: {name: value} for requests to the page's own site. */
    rules?: ({
      /** A part of the address, or a pattern with * and **. */
      url: string;
      /** The request is refused. */
      block?: boolean;
      /** The page gets this in place of the server's answer. */
      answer?: {
        /** Its text. */
        body: string;
        /** Its media type; default application/json. */
        type?: string;
        /** Its status; default 200. */
        status?: number;
      };
      /** Headers of the request. */
      headers?: Record<string, string>;
    })[];
  };
  /** Names of cookies. */
  cookies: Record<string, never>;
  /** Stored values: area, operation, name, value. */
  storage: {
    /** Where they are; the user is asked first. */
    area: 'cookies' | 'local' | 'session' | 'indexed_db';
    /** What to do with them. */
    operation: 'get' | 'set' | 'delete';
    /** Name of one value; get without it: all. In indexed_db database/store. */
    name?: string;
    /** Value to set; never recorded. */
    value?: string;
  };
  /** Sets site permissions. */
  set_permissions: {
    /** geolocation, notifications, camera, microphone, clipboard, automatic_downloads: each allow, deny or ask. The user is asked first. */
    permissions?: {
      /** What the browser does when a site wants to use a permission. */
      automatic_downloads?: 'allow' | 'deny' | 'ask';
      /** What the browser does when a site wants to use a permission. */
      camera?: 'allow' | 'deny' | 'ask';
      /** What the browser does when a site wants to use a permission. */
      clipboard?: 'allow' | 'deny' | 'ask';
      /** What the browser does when a site wants to use a permission. */
      geolocation?: 'allow' | 'deny' | 'ask';
      /** What the browser does when a site wants to use a permission. */
      microphone?: 'allow' | 'deny' | 'ask';
      /** What the browser does when a site wants to use a permission. */
      notifications?: 'allow' | 'deny' | 'ask';
    };
    /** Puts all back first. */
    reset?: boolean;
  };
};

/** The codes of failures, each with a next step. */
export type ErrorCode = 
  | 'script_threw'
  | 'syntax_error'
  | 'no_such_tab'
  | 'tab_closed'
  | 'tab_crashed'
  | 'tab_discarded'
  | 'needs_resubmit'
  | 'foreign_extension_frame'
  | 'restricted_page'
  | 'navigation_failed'
  | 'navigation_interrupted'
  | 'debugger_unavailable'
  | 'result_too_large'
  | 'unknown_action'
  | 'invalid_params'
  | 'internal'
  | 'blocked_by_policy'
  | 'tabwire_page'
  | 'private_not_allowed'
  | 'private_in_use'
  | 'not_in_private'
  | 'denied_by_user'
  | 'consent_needed'
  | 'permission_needed'
  | 'consent_stale'
  | 'stopped_by_user'
  | 'execution_timeout'
  | 'target_not_found'
  | 'ambiguous_target'
  | 'stale_ref'
  | 'not_visible'
  | 'not_stable'
  | 'covered'
  | 'disabled'
  | 'not_editable'
  | 'wrong_kind'
  | 'option_not_found'
  | 'file_not_allowed'
  | 'file_not_found'
  | 'file_too_large'
  | 'file_changed'
  | 'file_unreadable'
  | 'unsupported'
  | 'download_failed'
  | 'no_dialog'
  | 'picture_stale'
  | 'tab_in_use'
  | 'handed_over'
  | 'page_tool_changed';

/** When a tab is pictured for the person. */
export type ActMoment = 'before' | 'after';

/** An action that agents may not use on some sites. */
export type ActionDenial = {
  /** The name of the action. */
  action: string;
  /** The sites. */
  pattern: SitePattern;
};

/** The element of an action. */
export type ActionTarget = {
  selector: string;
  tag?: string;
  role?: string;
  text?: string;
};

/** The decision on an older extension. */
export type AdmissionChange = 'allow' | 'remove';

/** An older extension that is let in. */
export type AdmittedExtension = {
  /** The extension. */
  extension_id: string;
  /** Whether it polls now. */
  connected: boolean;
};

/** A tab that a client opened and the person has not made their own. */
export type AgentTab = {
  /** The tab. */
  tab_id: TabId;
  /** The name of the client. */
  client: string;
  /** The client. */
  client_id: ClientId;
  /** When it is closed; absent while the client or another one may still use it. */
  closes_at?: Timestamp;
};

/** A person's answer. */
export type AskAnswer = {
  kind: 'allow';
  /** The person's words to it. */
  note?: string;
} | {
  kind: 'deny';
  /** The person's words to it. */
  note?: string;
} | {
  kind: 'done';
  /** The person's words to the agent. */
  note?: string;
} | {
  kind: 'cannot';
  /** The person's words to the agent. */
  note?: string;
} | {
  kind: 'option';
  /** Its number, from 0. */
  index: number;
} | {
  kind: 'text';
  /** The line. */
  text: string;
} | {
  kind: 'decline';
} | {
  kind: 'consent';
  /** The word. */
  consent: ConsentAnswer;
};

/** A file that a command would give to a page, as the person is asked about it. */
export type AskedFile = {
  /** Its whole path, without links. */
  path: string;
  /** Its size in bytes. */
  size: number;
  /** Which file it is, and when it was last changed: only this one may be given. */
  mark: string;
  /** Whether its folder can be opened to agents. */
  may_open_folder: boolean;
  /** A folder above its own in which the agent's program says that it works. Only the person's word opens it. */
  root?: string;
};

/** An older extension that asks to be let in. */
export type AskingExtension = {
  /** The extension. */
  extension_id: string;
  /** The version that it says it has, see `plain_version`. */
  extension_version: string;
  /** Whether it was let in until the Tabwire extension connected. */
  was_let_in?: boolean;
};

/** The number of a command's delivery, from 1. It fences reports: a report that names an older attempt does not count. */
export type Attempt = number;

/** Names an installation of the extension: it lasts as long as the browser profile does. */
export type BrowserId = string;

/** The name that a person gives to a browser's profile, such as `work`. `check_name` holds for it, and it reads as what it is: all its characters show. */
export type BrowserName = string;

/** Names one run of a browser. Numbers of tabs and windows are valid within one run only. */
export type BrowserSession = string;

/** A browser tab. */
export type BrowserTab = {
  /** The tab. */
  tab_id: TabId;
  /** Its window. */
  window_id: number;
  /** What it shows. */
  url: string;
  /** The page's title. */
  title: string;
  /** Whether it is the one its window shows. */
  active: boolean;
  /** Whether its window is the one that had the focus last. */
  focused: boolean;
  /** The letters with which the refs of its elements begin, once it has any: `b` of `b12`. */
  ref_prefix?: string;
  /** Whether the browser has unloaded its page to save memory. The next command for the page loads it again. */
  discarded?: boolean;
  /** Whether the browser has stopped its page's timers and scripts. The next command for the page lets them run. */
  frozen?: boolean;
  /** Ids that it had before: the browser gives a tab whose page it unloads another one. They still name it. */
  former_ids?: TabId[];
  /** Whether it is in a private window. Only those that agents opened are in a list. */
  private?: boolean;
};

/** Why the daemon asks for a command to be stopped. */
export type CancelReason = 'cancelled' | 'execution_timeout' | 'command_expired';

/** The streams that an extension should record. A tab records the union of `all` and its own entry. Nothing is recorded unless a client asked for it. */
export type CaptureSettings = {
  /** In every tab. */
  all?: StreamKind[];
  /** In single tabs besides. */
  tabs?: TabCapture[];
};

/** One bridge process or one HTTP caller. Lists, caps and rate limits apply to each client. */
export type ClientId = string;

/** A command as the extension gets it. */
export type CommandBody = {
  /** The command's second name. */
  id: QueryId;
  /** The command's name. */
  correlation_id: CorrelationId;
  /** The action's name. */
  type: string;
  /** The action's own parameters. */
  params: Record<string, unknown>;
  /** The tab it is for; absent for the browser as a whole. */
  tab_id?: TabId;
  /** The tabs that it may see and use, and those that it opens; absent: every tab. */
  tabs?: TabId[];
  /** The owner of the command, if it may see and use the private tabs that this owner's commands opened. */
  private_owner?: Owner;
  /** Whether the program is on another machine: it opens, reads and uses only sites for which the person has given a word of the kind `use`, and is told nothing of others. */
  far?: boolean;
  /** How long it may run, in milliseconds from `go`. */
  timeout_ms: number;
  /** Whether it is run at once, without a claim. */
  safe: boolean;
  /** Whether an earlier attempt was delivered and lost before it began. */
  redelivered: boolean;
  /** Whether dialogs that it meets stay open until they are answered. */
  holds_dialogs?: boolean;
  /** Whether the person wants to see the tab before and after it: the extension sends `act_picture`. */
  pictured?: boolean;
  /** The agent's name for itself: a label for the person, and no proof of anything. */
  client: string;
  /** The client, which keeps apart what several agents of one name have begun. */
  client_id: ClientId;
  /** The person's kept words about the client. */
  consents?: KnownConsent[];
  /** What the person has allowed this command alone. */
  allowed?: ConsentNeed[];
  /** The trace and the span that it is a part of, if its call named one: as W3C Trace Context has it. */
  traceparent?: string;
  /** What tracing systems have added to it. */
  tracestate?: string;
};

/** A person's word. */
export type ConsentAnswer = 'once' | 'session' | 'always' | 'deny' | 'never' | 'folder' | 'root';

/** What a command needs the person's word for. A kept word is for one of these. */
export type ConsentKind = 'act' | 'close' | 'file' | 'values' | 'requests' | 'settings' | 'watch' | 'permission' | 'use';

/** What a command needs the person's word for, and where. */
export type ConsentNeed = {
  /** What for. */
  kind: ConsentKind;
  /** The site. */
  site: string;
  /** A mark of the page that the browser showed then, its document and its address: a word for once is for this page. */
  document?: string;
  /** What else a word for once is for. */
  detail?: string;
  /** The files that the page would get: a word for once is for these. */
  files?: AskedFile[];
};

/** A line of the console, or an exception. */
export type ConsoleLine = {
  /** Severity, least first. */
  level: 'debug' | 'log' | 'info' | 'warn' | 'error';
  source: string;
  text: string;
  url: string;
  script_url?: string;
  line?: number;
  stack?: string;
};

/** Names one command from its acceptance to the end of its retention: `<kind>_<unix ms>_<32 hex>`, 128 random bits, so that it cannot be guessed. */
export type CorrelationId = string;

/** A person's drawing on one page, or the news that they drew nothing. Annotations and the elements that they point at are kept byte for byte. */
export type Drawing = {
  /** The same id again is the same drawing, so an extension can send it twice. */
  drawing_id: DrawingId;
  /** The page with the drawing on it. */
  screenshot_data_url?: string;
  /** JSON objects, at most `ANNOTATIONS_MAX`. */
  annotations: unknown[];
  /** A JSON object: the elements that annotations name, by key. */
  element_details: unknown;
  /** The page. */
  page_url: string;
  /** Its title. */
  page_title?: string;
  /** Its tab. */
  tab_id?: TabId;
  /** The session that it belongs to. */
  annot_session_name?: SessionName;
  /** The wait that asked for it. */
  correlation_id?: CorrelationId;
  /** Why nothing was drawn. There are no annotations then. */
  cancelled?: DrawingCancel;
};

/** Why nothing was drawn. */
export type DrawingCancel = 'user' | 'page_closed';

/** Names one drawing, and its files: 32 hexadecimal digits in lower case. */
export type DrawingId = string;

/** Why a drawing is not kept. */
export type DrawingRefusal = {
  /** Whether it helps to send it again. */
  code: DrawingRefusalCode;
  /** A sentence for people. */
  message: string;
};

/** The kinds of reason not to keep a drawing. */
export type DrawingRefusalCode = 'too_large' | 'malformed' | 'storage_unavailable';

/** A line of the extension's own log. */
export type ExtensionLog = {
  /** Severity, least first. */
  level: 'debug' | 'log' | 'info' | 'warn' | 'error';
  text: string;
  source?: string;
  category?: string;
  data?: string;
};

/** Such an owner, as the extension shows it. */
export type FarOwner = {
  /** Which. */
  owner: Owner;
  /** The person's words for it. */
  label?: string;
  /** How many of its calls are not over. */
  calls: number;
  /** Whether the person has disconnected it: its token counts for nothing. */
  suspended: boolean;
};

/** The person disconnects such an owner, or lets it in again. */
export type FarOwnerChange = {
  /** Which: of another generation it counts for nothing. */
  owner: Owner;
  /** Whether its token counts from now on. */
  allowed: boolean;
};

/** What the person does with the list of such owners. */
export type FarOwnerWish = {
  /** The change; absent: they look at it. */
  change?: FarOwnerChange;
};

/** A dialog that stays open until it is answered. */
export type HeldDialog = {
  /** `alert`, `confirm`, `prompt`, `beforeunload`, `authentication` or `file_chooser`. */
  type: string;
  /** Its text, which is the page's. */
  message: string;
  /** The text that a prompt already has. */
  default_text?: string;
};

/** A tab in which only one client acts. */
export type HeldTab = {
  /** The tab. */
  tab_id: TabId;
  /** The name of the client. */
  client: string;
  /** Whether the client opened it; else the tab is the person's. */
  opened: boolean;
  /** Since when the client holds it. */
  since: Timestamp;
};

/** What the person wants with the history. */
export type HistoryWish = 'look' | 'on' | 'off' | 'clear';

/** A command that the extension has not finished, or whose report is not acknowledged. */
export type InFlight = {
  /** The command. */
  correlation_id: CorrelationId;
  /** The attempt. */
  attempt: Attempt;
  /** Its state in the extension. */
  state: InFlightState;
};

/** The state of a command in the extension. */
export type InFlightState = 'claimed' | 'running' | 'done';

/** Names one run of the extension's service worker. */
export type InstanceId = string;

/** A person's word that is kept, as the extension shows it to them. */
export type KeptWord = {
  /** Whose client it is about. */
  owner: Owner;
  /** The client. */
  client_id: ClientId;
  /** The client's name. */
  client: string;
  /** What for. */
  kind: ConsentKind;
  /** The site. */
  site: string;
  /** What it says, and how long it holds. */
  word: WordTerm;
  /** When it was given. */
  at: Timestamp;
};

/** A kept word, as a command carries it to the extension. */
export type KnownConsent = {
  /** What for. */
  kind: ConsentKind;
  /** The site. */
  site: string;
  /** Whether the person allows it. */
  allowed: boolean;
};

/** A change of the rules for local files. */
export type LocalFileChange = {
  change: 'add';
  /** An absolute path without links. */
  folder: string;
} | {
  change: 'remove';
  /** The folder, as the list names it. */
  folder: string;
} | {
  change: 'switch';
  /** Whether agents may open files in the listed folders. */
  enabled: boolean;
};

/** Why a frame from the extension does not count. */
export type NackReason = 'stale_attempt' | 'already_terminal' | 'unknown_command' | 'unknown_type' | 'malformed';

/** A finished request. */
export type NetworkRequest = {
  request_id?: string;
  method?: string;
  url: string;
  page_url?: string;
  resource_type?: string;
  status?: number;
  status_text?: string;
  mime_type?: string;
  duration_ms?: number;
  ttfb_ms?: number;
  bytes?: number;
  from_cache?: boolean;
  error?: string;
  request_headers?: Record<string, string>;
  response_headers?: Record<string, string>;
};

/** The person's decision on an older extension. */
export type OlderExtensionChange = {
  /** What is to happen. */
  change: AdmissionChange;
  /** The extension. */
  extension_id: string;
};

/** An open question, as a browser shows it to the person. */
export type OpenAsk = {
  /** The wait for the answer. */
  correlation_id: CorrelationId;
  /** The agent's name for itself: a label for the person, and no proof of anything. */
  client: string;
  /** The tab of this browser that it is about. */
  tab_id?: TabId;
  /** What the person calls the browser of the tab that it is about, where that is another one. */
  browser_label?: string;
  /** When it was asked. */
  asked_at: Timestamp;
  /** Until when it can be answered. */
  until: Timestamp;
} & ({
  kind: 'approve';
  /** What it is about to do. */
  question: string;
} | {
  kind: 'choose';
  /** The question. */
  question: string;
  /** The options; no two are alike. */
  options: string[];
} | {
  kind: 'answer';
  /** The question. */
  question: string;
} | {
  kind: 'hand_over';
  /** The step. */
  question: string;
} | {
  kind: 'consent';
  /** The command, in a few words. */
  question: string;
  /** What it needs the person's word for. */
  need: ConsentNeed;
});

/** The principal behind a token. Only the owner of a command can read it, wait for it or cancel it. It is a name, and for an owner of the list its generation besides, so that a name that was removed and added again is another owner. */
export type Owner = string;

/** The speed of a page. */
export type PagePerformance = {
  url: string;
  metrics: WebVitals;
};

/** A tab that a client has changed, such as by an emulated screen, and that is to be put back. */
export type PageState = {
  /** The tab. */
  tab_id: TabId;
  /** The client that changed it. */
  client_id: ClientId;
};

/** One act of an agent that is over. */
export type PastAct = {
  /** When it ended. */
  at: Timestamp;
  /** The owner of the client's token. */
  owner: string;
  /** The client, by the name that it gave itself. */
  client: string;
  /** What the browser was called then, by the person or by itself. Absent if it was in none. */
  browser?: string;
  /** The action; of a batch, its actions too. */
  action: string;
  /** The host of its page, `file:` for local files. Absent if it was in no page. */
  site?: string;
  /** `complete`, `error`, `timeout`, `expired` or `cancelled`. */
  ended: string;
  /** The code of the end, if it has one. */
  reason?: string;
  /** From the acceptance to the end, in milliseconds. */
  took_ms: number;
};

/** The command's second name, which an extension may use when it reports without a correlation id. */
export type QueryId = string;

/** A failure as the extension reports it. */
export type ReportedError = {
  /** A word for programs. */
  code: string;
  /** A sentence for people. */
  message: string;
  /** Where in the script. */
  stack?: string;
  /** What to do next, a sentence for people. */
  hint?: string;
  /** Whether it may have begun in the page, if that is known. */
  may_have_run?: boolean;
};

/** The bodies of a request and of its answer. */
export type RequestBodies = {
  request_id: string;
  method: string;
  url: string;
  page_url?: string;
  status?: number;
  mime_type?: string;
  request_body?: string;
  response_body?: string;
  base64?: boolean;
  truncated: boolean;
};

/** A tab that a browser has brought back when it was started anew. */
export type RestoredTab = {
  /** Its number in the browser's former run. */
  former: TabId;
  /** Its number now. */
  tab_id: TabId;
};

/** The name under which drawings on several pages are collected. `check_name` holds for it. */
export type SessionName = string;

/** A change of the rules. */
export type SiteChange = {
  change: 'add';
  /** Which. */
  list: SiteList;
  /** The pattern. */
  pattern: SitePattern;
} | {
  change: 'remove';
  /** Which. */
  list: SiteList;
  /** The pattern. */
  pattern: SitePattern;
} | {
  change: 'clear_agents';
} | ActionDenial & {
  change: 'deny_action';
} | ActionDenial & {
  change: 'allow_action';
} | {
  change: 'default';
  /** What. */
  default: SiteDefault;
};

/** What holds on sites that no rule is about. */
export type SiteDefault = 'allow' | 'ask';

/** One of the lists. */
export type SiteList = 'allow' | 'deny' | 'agent_deny' | 'read' | 'ask';

/** A pattern of sites: `example.com` with all its subdomains, `*.example.com` for the subdomains alone, or an IP address; each may name a scheme and a port. Or `file:`. */
export type SitePattern = string;

/** An event on a page's WebSocket. */
export type SocketEvent = {
  request_id?: string;
  url: string;
  page_url?: string;
  event: string;
  text?: string;
  bytes?: number;
  truncated?: boolean;
};

/** The streams to record in one tab. */
export type TabCapture = {
  /** The tab. */
  tab_id: TabId;
  /** Its streams, at least one. */
  streams: StreamKind[];
};

/** A tab as the browser numbers it. */
export type TabId = number;

/** A team whose calls do not go as they should, as the extension shows it. */
export type TenantTrouble = {
  /** Which, by the person's name for it. */
  tenant: string;
  /** The finding in a sentence. */
  says: string;
  /** The next step. */
  do: string;
};

/** A point in time: RFC 3339 in UTC, with milliseconds. */
export type Timestamp = string;

/** A widening that no person has confirmed yet. */
export type UnconfirmedWidening = {
  /** Its name. A confirmation gives it, so that nobody confirms a widening that came after they looked. */
  id: string;
  /** When it was made. */
  at: Timestamp;
  /** What it allows, as it reads after "Let ", for example `agents use example.com`. */
  what: string;
  /** The command that takes it back, if it is known. */
  take_back?: string;
};

/** A private copy of a file, for one page. */
export type UploadCopy = {
  /** The copy's path on the computer of browser and daemon. */
  path: string;
  /** The file's name. */
  name: string;
  /** Its size in bytes. */
  size: number;
};

/** The reason why a page gets no files. */
export type UploadRefusal = {
  /** A word for programs. */
  code: UploadRefusalCode;
  /** A sentence for people. */
  message: string;
  /** The next step. */
  hint: string;
};

/** A word for the reason why a page gets no files. Each is a code of a command's failure. */
export type UploadRefusalCode = 
  | 'file_not_allowed'
  | 'file_not_found'
  | 'file_too_large'
  | 'file_changed'
  | 'file_unreadable'
  | 'internal';

/** An extension's request for copies of the files that its running command gives to a page. */
export type UploadRequest = {
  /** Comes back in `upload_copies`. */
  request: number;
  /** The command. */
  correlation_id: CorrelationId;
  /** The attempt. */
  attempt: Attempt;
  /** The files, as the command names them. */
  paths: string[];
  /** The site of the page that gets the files, as consents name it. */
  site: string;
  /** Only look which of them the person is to be asked about. The command need not run yet. */
  look?: boolean;
};

/** A person's action in a page. */
export type UserAction = {
  kind: string;
  url: string;
  target?: ActionTarget;
  value?: string;
  masked?: boolean;
  key?: string;
};

/** The measurements of a page: times in ms, and the shift of its layout. */
export type WebVitals = {
  ttfb_ms?: number;
  fcp_ms?: number;
  lcp_ms?: number;
  cls?: number;
  inp_ms?: number;
  dom_content_loaded_ms?: number;
  load_ms?: number;
};

/** The kept word that the person takes back. */
export type WordTakenBack = {
  /** Whose client it is about. */
  owner: Owner;
  /** The client. */
  client_id: ClientId;
  /** What for. */
  kind: ConsentKind;
  /** The site. */
  site: string;
  /** When it was given: one that was given anew since is another word. */
  at: Timestamp;
};

/** What a kept word says, and how long it holds. */
export type WordTerm = 'session' | 'always' | 'never';

/** A kind of recorded entries. */
export type StreamKind = 'logs' | 'network' | 'bodies' | 'websocket' | 'actions' | 'performance' | 'extension_logs';
