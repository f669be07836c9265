"""What stands on the printed pages. A soft hyphen is where a word may be divided at a line's end."""

SLUICE = (
    "The old sluice below the mill was rebuilt in the spring, after three wet winters had carried most of its timber "
    "down the valley. Two carpenters and a mason worked on it for eleven weeks. They kept the stone cheeks, which are "
    "older than the house, and replaced only the gate, the beam above it and the iron rack that lifts both.",
    "Since then the level of the pond has been written down every morning. It falls by a hand's breadth in a dry week "
    "and rises within hours when it rains in the hills. Nobody had expected that the eels would come back, but in "
    "August a boy counted nine of them under the footbridge.",
    "The cost was shared between the parish, the owner of the lower meadows and a fund for historic waterworks. A "
    "board beside the path shows how the gate is worked, and on the first Sunday of each month it may be tried.",
)

LIGHTHOUSE = (
    "Every light along this coast has its own rhythm, so that a sailor who counts the seconds knows where he is. The "
    "tower at Marren Head shows two white flashes and a pause of nine sec\u00adonds; the harbour mole an\u00adswers "
    "with a steady red. In fog, a horn used to be blown by com\u00adpressed air. The last keeper re\u00adcalled that "
    "his chil\u00addren slept through it, but woke at once when it stopped.",
    "Paraffin was car\u00adried up a hundred and twelve steps until the cable came across the sound. The lens it\u00ad"
    "self, as tall as a man, floats in a trough of mer\u00adcury and can be turned with one finger. Engi\u00adneers "
    "who mea\u00adsured it last year found no wear that mattered.",
    "Today the lamp is no bigger than a pear. A com\u00adputer on the main\u00adland lights it, watches the bat\u00ad"
    "tery and re\u00adports each fault by radio. Visitors still climb the stairs, though, and many of them say that "
    "the view from the gallery alone was worth the crossing.",
)

BEES_HEADING = "How bees find a new home"
BEES = (
    "When a colony grows too large, the old queen leaves with half of the workers and settles on a branch. From this "
    "cluster a few hundred scouts fly out and look for a hollow that is dry, high above the ground and about as "
    "large as a bucket. Each scout that finds one comes back and dances.",
    "The better the place, the longer the dance. Others follow it, inspect the hollow for themselves and advertise "
    "it in turn. Scouts that danced for a poorer place lose interest and stop. Within a day or two nearly all of "
    "them point in one direction.",
    "No bee compares the choices, and the queen has no say at all. The decision is taken as soon as some thirty "
    "scouts meet at one entrance. They hurry home, pipe loudly to warm up their sisters, and the whole cluster "
    "takes wing.",
)
BEES_FOOTNOTE = (
    "* The experiments were made on an island without trees, where the only hollows were wooden boxes that the "
    "observers had put there themselves and could open at any time."
)

NOTICES = (
    "The library will be closed on Thursday afternoon while new shelves are put up in the reading room. Books that "
    "fall due on that day may be returned on Friday without a fine. The box beside the door stays open, as always.",
    "A grey parrot with a red tail has flown away from Orchard Lane. It whistles the first bars of a march and "
    "comes to the name of Captain. Whoever sees it is asked to ring the bell at number nine. There is a reward.",
    "The choir is looking for two basses and a patient tenor. Rehearsals are on Monday evenings in the school "
    "hall. Nobody needs to read music, but it helps to be on time. The summer concert will be given outdoors if "
    "the weather allows it.",
)

TERMS = (
    "1. The hirer receives the boat clean, dry and with all of its equipment, and returns it in the same condition "
    "at the hour agreed. Each quarter of an hour that is begun after that is charged at the rate shown on the "
    "board.",
    "2. Children under twelve years wear a life jacket at all times. Jackets of every size are lent free of charge "
    "at the boathouse. Nobody may stand up, change seats or dive while the boat is under way.",
    "3. Beyond the yellow buoys the current is strong. Who passes them does so at his own risk and pays for the "
    "tow. In a thunderstorm the nearest shore is to be made for without delay, whether a landing stage is there "
    "or not.",
    "4. Damage must be reported before the deposit is paid back. Ordinary wear is not damage. A lost oar costs "
    "eighteen, a lost cushion seven, and a lost rudder as much as the maker asks for a new one.",
    "5. Dogs are welcome in the wide boats only, and on a lead until they are on board. Fires, grills and music from "
    "loudspeakers are forbidden everywhere on the lake.",
)

BAKERY = (
    "Good bread needs little more than flour, water, salt and time. Mix the first three loosely in the evening, "
    "cover the bowl and leave it by the window. By morning the dough has doubled and smells faintly of apples. "
    "Fold it four times, let it rest while the oven heats, and turn it out on a hot tray.",
    "Bake it darker than you dare. The crust should sing when it leaves the oven, a crackle that lasts for several "
    "minutes. Whoever cuts the loaf before it is cool loses half of the flavour to the steam.",
)

TRAIN = (
    "The night train leaves the capital at twenty past nine and reaches the sea shortly before breakfast. It has "
    "four sleeping cars, two with seats and one in which tea is served until midnight. Passengers with bicycles "
    "board at the rear; the steward will help to lift them.",
    "Between the second and the third tunnel the line climbs so steeply that a second engine pushes from behind. "
    "Light sleepers notice it by the sudden quiet afterwards, when the train rolls down towards the river on its "
    "own weight.",
)

LETTER = (
    "Dear Mr Aldous, thank you for your letter of the fourth of March and for the plans that came with it. We have "
    "looked through them carefully and are glad to say that the committee agrees with nearly everything.",
    "Only the staircase gives us pause. As drawn, its lower flight would cover the memorial stone, and the steps "
    "are too narrow for two people to pass. Could the landing be moved to the east wall, where the old window was?",
    "If you are able to send a revised sheet before Easter, the work can begin in May as agreed. Our treasurer will "
    "pay the first part of your fee this week.",
)

CARBON = (
    "This copy was typed with a worn ribbon and has faded in the sun. It concerns the sale of a piano, two music "
    "stands and a cupboard full of scores to the grammar school. The price was fixed at ninety crowns, to be paid "
    "in three parts, and the carrier was engaged for the Tuesday after Whitsun.",
    "The seller keeps the right to play the instrument on Sundays for as long as he lives in the town. Both sides "
    "have read this agreement, found it just and signed it in the presence of the notary.",
)

TABLE_HEADING = "Rainfall and river levels at the five stations"
TABLE = (
    ("Station", "Height in m", "Rain in mm", "Level in cm", "Remarks"),
    ("Marren Bridge", "12", "84.5", "143", "gauge renewed"),
    ("Upper Weir", "208", "121.0", "67", ""),
    ("Cold Spring", "645", "", "31", "frozen until March"),
    ("Harrow Mill", "97", "96.3", "118", ""),
    ("Long Meadow", "34", "79.8", "", "read by telephone"),
    ("Sum of the five", "", "381.6", "", ""),
)
TABLE_NOTE = "Measured from October to March; the levels are those of the last day of the winter."

RECEIPT_HEAD = ("CORNER GROCERY", "14 Chandler Street", "Tel. 555 0142", "Receipt 20871")
RECEIPT = (
    ("Rye bread 750 g", "3.40"),
    ("Butter unsalted", "2.85"),
    ("Tomatoes 1.2 kg", "4.19"),
    ("Olive oil", "8.95"),
    ("Eggs, box of ten", "3.10"),
    ("Paper bag", "0.20"),
    ("TOTAL", "22.69"),
    ("Cash", "25.00"),
    ("Change", "2.31"),
)
RECEIPT_FOOT = ("Thank you for your visit", "Open Monday to Saturday")

SCREEN_TITLE = "Backup settings"
SCREEN_MENU = ("General", "Accounts", "Backup", "Notifications", "Storage", "About")
SCREEN = (
    "Copies are made every night at 02:30 and kept for thirty days.",
    "Last successful backup: 14 October, 1.8 GB in 6 minutes",
    "Destination folder",
    "/mnt/archive/office/nightly",
    "The drive is almost full. Older copies will be removed first.",
    "Encrypt new backups with a passphrase",
    "Send a message when a backup fails",
)
SCREEN_BUTTONS = ("Cancel", "Restore", "Save changes")

GERMAN = (
    "Überall im Tal läuten am frühen Morgen die Glocken. Die Bäuerin öffnet die Fensterläden, grüßt den Nachbarn und "
    "füttert die Hühner. Größere Höfe gibt es hier nicht mehr; die meisten Söhne und Töchter arbeiten in der "
    "Möbelfabrik jenseits des Flusses.",
    "Für Gäste gibt es zwölf Zimmer, Frühstück inklusive. Wer länger als fünf Nächte bleibt, erhält zehn Prozent "
    "Ermäßigung auf die Übernachtung.",
)
FRENCH = (
    "À côté de l'église, un café reste ouvert jusqu'à minuit. Le garçon y connaît chaque élève du lycée et leur "
    "prête volontiers un parapluie. L'été dernier, une équipe de télévision est venue tourner près de la forêt; "
    "depuis, les hôtels sont complets dès le mois de février.",
    "Le musée présente une façade sévère, mais l'intérieur étonne: des vitraux bleus, un plafond peint où volent des "
    "oiseaux, et tout au fond le modèle réduit d'un château fort.",
)

CHINESE = (
    "图书馆新规定",
    "本馆每天上午九点开门，晚上八点关门，星期一休息。读者可以借十本书，期限为三十天。",  # noqa: RUF001 - as Chinese has it
    "如果需要延长时间，请在网站上申请，或者打电话给服务台。丢失的书应当照价赔偿。",  # noqa: RUF001 - as Chinese has it
    "二楼有安静的阅览室和电脑。打印文件每页收费五角，学生免费使用 Wi-Fi 网络。",  # noqa: RUF001 - as Chinese has it
    "Please ask at the desk for a guest card.",
    "English books are on the third floor.",
    "三楼的会议室可以预约，最多容纳四十人。请不要带食物和饮料入内，谢谢您的合作。",  # noqa: RUF001 - as Chinese has it
)

GLACIER = (
    "The glacier above the hut has lost a third of its length since the first map was drawn. Each summer a student "
    "paints a red mark on the rock beside the ice and writes the year next to it. The oldest marks now stand in a "
    "meadow, half an hour's walk from the nearest snow.",
    "What the ice lets go of is kept in a shed: a ski of ash wood, a milk can, the wing of a small aeroplane. Two "
    "hikers found a leather shoe that was older than the pyramids. It had been mended twice, and with great care.",
    "Water from the glacier drives the turbines in the valley. In forty years it will be scarce in August, just when "
    "the fields need it most, and so the farmers are building ponds today.",
)

COPY = (
    "Minutes of the meeting of the allotment society, held in the back room of the Anchor on the ninth of June. "
    "Eleven members were present. The treasurer reported a small surplus, most of it from the sale of plums.",
    "It was agreed to mend the pump before the dry season and to plant a hedge along the railway. Mrs Pettifer asked "
    "once more that bonfires be lit on weekdays only. The motion was carried by seven votes to three.",
)

BERTHS_HEADING = "Berths and who may use them"
BERTHS = (
    ("Berth", "Rules", "Asked for at"),
    (
        "North quay",
        "Ships of more than thirty metres, for loading only and for no longer than two tides.",
        "Harbour office",
    ),
    (
        "Inner quay",
        "Fishing boats lie here side by side. The outer boat lets the inner one go out first.",
        "Guild of fishers",
    ),
    ("Ferry pier", "Kept free from six in the morning until the last ferry has left.", "Ferry company, upper floor"),
)
