"""Words that fill the slots of generated pairs.

Every list holds alternatives of one kind: two different entries of a list exclude each other in a slot that
takes one value.
"""

from __future__ import annotations


def listed(words: str) -> list[str]:
    """Returns the words of a list that is written as running text."""
    return words.split()


PEOPLE = listed(
    """Aaron Abena Adaeze Ahmed Aiko Akira Alejandro Amara Amelia Amir Ana Andrei Anika Anton Arjun Astrid
        Ayesha Beatriz Ben Bianca Bjorn Bruno Camille Carlos Cheng Chiara Claire Clara Dalia Dana Dario David
        Deepa Diego Dmitri Elena Elias Emeka Emily Emma Erik Esther Eva Farid Fatima Fiona Florence Francois
        Gabriel George Grace Greta Gustav Hana Harold Hassan Heidi Helen Hiro Hugo Ibrahim Igor Ingrid Irene
        Isaac Isabel Ivan Jack Jamal James Jana Javier Joao Johan Jorge Joseph Julia Jun Kamala Karim Kate
        Kenji Khadija Kofi Kwame Lars Laura Leila Leo Liam Lin Linda Lucas Lucia Luis Magnus Malik Maria Marie
        Martin Mateo Maya Mehmet Mia Michael Miguel Mina Mohammed Monica Nadine Naomi Natalia Nikhil Nina Noah
        Nora Olga Oliver Olivia Oscar Pablo Patricia Paul Pedro Peter Petra Quentin Rachel Rahul Rania Ravi
        Rebecca Ricardo Rita Robert Rosa Ruth Samira Samuel Sandra Sanjay Sara Sergei Simon Sofia Stefan
        Sunita Suresh Svetlana Tariq Teresa Thabo Thomas Tobias Ulrich Uma Valentina Vera Victor Vikram Walter
        Wei William Xavier Xin Yasmin Yuki Yusuf Zainab Zara Zoe"""
)

SURNAMES = listed(
    """Abbott Adeyemi Ahmadi Alvarez Andersson Baker Banerjee Becker Bianchi Boateng Brown Campbell Castro
        Chen Cohen Costa Dubois Eriksen Evans Fernandez Fischer Garcia Gupta Haddad Hansen Hoffmann Ito Ivanov
        Jackson Jensen Johnson Kapoor Keller Khan Kim Kowalski Larsen Lee Lopez Martinez Mbeki Mehta Moreau
        Morales Murphy Nakamura Nguyen Novak Nwosu Olsen Osei Park Patel Pereira Petrov Popescu Ramirez Rossi
        Roy Russo Sato Schmidt Shah Silva Singh Smith Suzuki Tanaka Taylor Torres Turner Varga Wagner Walker
        Wang Weber Williams Wong Yamamoto Yilmaz Zhang"""
)

COMPANIES = """Acorn Labs|Altavia|Amberline|Apexum|Arcadia Foods|Argonaut Systems|Aurora Freight|Baltic Steel|Beacon Health|
Birchwood|Bluepeak|Boreal Energy|Brightwave|Cascade Bank|Cedarpoint|Cobalt Motors|Corvex|Crestline|Cygnus Media|Deltora|
Dynacore|Eastgate|Emberly|Equinox Air|Evergreen Textiles|Fenwick|Ferrant|Fjordline|Foundry Nine|Glenmore|Granite Bay|
Halcyon|Harborview|Helios Power|Highfield|Hyperion Games|Ironbridge|Juniper Falls|Kestrel Air|Kingsley|Lakeshore Media|
Lumenix|Lyra Pharma|Maplewood|Meridian Rail|Monarch Toys|Nimbus|Northstar|Novaterra|Oakridge|Obsidian Security|Quillon|
Orchid Robotics|Palisade|Pinecrest|Polaris Shipping|Quantal|Ravenwood|Redwood Capital|Riverbend|Sablefin|Saffron|
Sentinel Labs|Silverlake|Skylark|Solstice Solar|Sterling Glass|Stonebridge|Tanager|Tidewater|Trellis|Tundra Oil|
Umbra Optics|Vantage Mutual|Verdant Farms|Vireo|Westfall|Wildwood|Windermere|Xenon Labs|Yellowtail|Zephyr Airways|Intel|
Siemens|Toyota|Netflix|Spotify|Airbus|Nestle|Sony|Unilever|Oracle|Adobe|Ericsson|Volvo|Bosch|Samsung|Stripe""".replace(
    "\n", ""
).split("|")

CITIES = """Accra|Addis Ababa|Amsterdam|Ankara|Athens|Auckland|Austin|Baghdad|Bangkok|Barcelona|Beirut|Belgrade|Bogota|Boston|
Brussels|Bucharest|Budapest|Buenos Aires|Cairo|Cape Town|Casablanca|Chicago|Copenhagen|Dakar|Dallas|Delhi|Denver|Dhaka|Dublin|
Edinburgh|Geneva|Hamburg|Hanoi|Havana|Helsinki|Istanbul|Jakarta|Johannesburg|Karachi|Kyiv|Kyoto|Leeds|Lima|Lisbon|London|Lyon|
Madrid|Manchester|Manila|Marseille|Melbourne|Mexico City|Miami|Milan|Montreal|Mumbai|Munich|Nairobi|Naples|Osaka|Oslo|Ottawa|
Perth|Philadelphia|Phoenix|Porto|Prague|Quito|Reykjavik|Riga|Rome|Rotterdam|Santiago|Seattle|Seoul|Singapore|Sofia|Stockholm|
Sydney|Taipei|Tallinn|Tehran|Tokyo|Toronto|Tunis|Turin|Vancouver|Vienna|Vilnius|Warsaw|Zagreb|Zurich""".replace(
    "\n", ""
).split("|")

COUNTRIES = """Argentina|Australia|Austria|Bangladesh|Belgium|Bolivia|Brazil|Bulgaria|Cambodia|Canada|Chile|China|Colombia|
Croatia|Cuba|Denmark|Ecuador|Egypt|Estonia|Ethiopia|Finland|France|Germany|Ghana|Greece|Hungary|Iceland|India|Indonesia|Iran|
Ireland|Israel|Italy|Jamaica|Japan|Jordan|Kenya|Latvia|Malaysia|Mexico|Morocco|Nepal|Nigeria|Norway|Pakistan|Peru|Poland|
Portugal|Romania|Rwanda|Senegal|Serbia|Spain|Sweden|Switzerland|Tanzania|Thailand|Tunisia|Turkey|Uganda|Ukraine|Vietnam""".replace(
    "\n", ""
).split("|")

LANGUAGES = listed(
    """Arabic Bengali Cantonese Czech Danish Dutch English Finnish French German Greek Hebrew Hindi Hungarian
        Indonesian Italian Japanese Korean Mandarin Norwegian Polish Portuguese Romanian Russian Spanish
        Swahili Swedish Tamil Thai Turkish Ukrainian Urdu Vietnamese Yoruba Zulu"""
)

NATIONALITIES = listed(
    """American Argentinian Australian Brazilian British Canadian Chilean Chinese Danish Dutch Egyptian
        French German Ghanaian Greek Indian Irish Italian Japanese Kenyan Mexican Nigerian Norwegian Polish
        Portuguese Russian Spanish Swedish Turkish Vietnamese"""
)

PROGRAMMING = """C|C++|Clojure|Dart|Elixir|Erlang|F#|Haskell|Java|JavaScript|Julia|Kotlin|Lua|OCaml|Perl|PHP|R|Ruby|Scala|Swift|
TypeScript|Zig|COBOL|Fortran""".replace("\n", "").split("|")

TOOLS = [
    ["Vim", "Emacs", "Sublime Text", "IntelliJ", "PyCharm", "Atom", "Zed", "Eclipse", "Nano"],
    ["Slack", "Microsoft Teams", "Discord", "Zulip", "Mattermost", "Webex"],
    ["Jira", "Linear", "Asana", "Trello", "Basecamp", "ClickUp", "Shortcut"],
    listed("PostgreSQL MySQL MongoDB Cassandra SQLite Redis DynamoDB Oracle CockroachDB"),
    ["AWS", "Azure", "Google Cloud", "Heroku", "DigitalOcean", "Hetzner"],
    ["Photoshop", "GIMP", "Sketch", "Affinity Designer", "Canva", "Illustrator", "InDesign"],
    ["Evernote", "OneNote", "Bear", "Roam", "Logseq", "Apple Notes", "Joplin"],
    ["Jenkins", "CircleCI", "GitLab CI", "Travis", "Buildkite", "TeamCity"],
    ["React", "Vue", "Angular", "Svelte", "Ember", "jQuery"],
    ["PyTorch", "TensorFlow", "JAX", "Keras", "scikit-learn", "MXNet"],
    ["Firefox", "Chrome", "Safari", "Edge", "Brave", "Opera"],
    ["Excel", "Google Sheets", "Airtable", "LibreOffice Calc", "Numbers"],
    ["Zoom", "Google Meet", "Skype", "FaceTime", "Jitsi"],
    ["Stripe", "PayPal", "Adyen", "Square", "Klarna", "Braintree"],
    ["Unity", "Unreal Engine", "Godot", "GameMaker", "CryEngine"],
    ["Kafka", "RabbitMQ", "NATS", "Pulsar", "ActiveMQ", "SQS"],
    ["Terraform", "Ansible", "Pulumi", "Chef", "Puppet", "CloudFormation"],
    ["BERT", "GPT-2", "T5", "RoBERTa", "LLaMA", "ELMo", "XLNet"],
    ["iPhone", "Pixel", "Galaxy", "OnePlus", "Fairphone"],
    ["Windows", "macOS", "Ubuntu", "Fedora", "Debian", "Arch Linux"],
]

COLOURS = listed(
    """red yellow orange purple pink black white brown grey silver gold navy turquoise beige maroon"""
)
FOODS = """apples|bananas|cheese|chocolate|mushrooms|olives|onions|pasta|pizza|rice|salad|salmon|soup|spinach|sushi|tomatoes|
bread|honey|garlic|eggs|beef|chicken|tofu|lentils|mangoes|strawberries""".replace("\n", "").split("|")
ALLERGENS = [
    "gluten",
    "lactose",
    "pollen",
    "cat hair",
    "penicillin",
    "dust",
    "latex",
    "soy",
    "sesame",
    "wheat",
    "milk",
    "walnuts",
    "eggs",
    "aspirin",
]
HOBBIES = """chess|cycling|gardening|hiking|knitting|painting|photography|pottery|running|sailing|skiing|surfing|swimming|
tennis|woodworking|yoga|climbing|birdwatching|fencing|rowing|badminton|karate|dancing|baking""".replace(
    "\n", ""
).split("|")
INSTRUMENTS = listed("""piano violin cello flute guitar trumpet saxophone harp clarinet drums accordion banjo""")
JOBS = """accountant|architect|baker|carpenter|chef|dentist|designer|electrician|engineer|farmer|firefighter|florist|
journalist|judge|lawyer|librarian|mechanic|nurse|paramedic|pharmacist|photographer|pilot|plumber|professor|researcher|
sculptor|surgeon|tailor|teacher|translator|veterinarian|writer|data scientist|product manager|sales representative""".replace(
    "\n", ""
).split("|")
TITLES = [
    ("CFO", "chief financial officer", "head of finance"),
    ("CTO", "chief technology officer", "head of technology"),
    ("COO", "chief operating officer", "head of operations"),
    ("president", "president", "president"),
    ("chairman", "chair of the board", "chairperson"),
    ("founder", "founder", "person who founded it"),
    ("VP of sales", "vice president of sales", "sales VP"),
    ("VP of engineering", "vice president of engineering", "engineering VP"),
    ("treasurer", "treasurer", "treasurer"),
    ("head coach", "head coach", "lead coach"),
    ("principal", "head teacher", "school head"),
    ("mayor", "mayor", "mayor"),
    ("editor-in-chief", "chief editor", "lead editor"),
    ("HR director", "director of human resources", "head of HR"),
    ("secretary", "secretary", "secretary"),
]
SERVICE_WORDS = listed(
    """account address alert analytics archive asset audit auth backup basket batch booking cache catalogue
        chat claims content coupon credit customer data delivery device discount document download email event
        export feed file finance fraud geo identity image import index ingest inventory invoice ledger licence
        location log loyalty media message mobile notification order partner payment payroll photo policy
        pricing product profile promo queue ranking rating receipt recommendation refund report returns
        rewards risk routing scheduling session shipping sms stock storage streaming subscription support
        survey tax telemetry ticket token tracking upload user video voice wallet warehouse web"""
)
SERVICE_KINDS = listed(
    """server service API cluster pipeline gateway database worker job dashboard app module crawler broker
        node"""
)
TEAM_WORDS = listed(
    """design platform sales security legal mobile growth finance data infrastructure content marketing
        support operations research procurement quality logistics localisation compliance hardware firmware
        analytics"""
)
EVENTS = """workshop|team dinner|hearing|interview|exam|wedding|concert|conference|retreat|appointment|inspection|webinar|
trial|ceremony|match|rehearsal|auction|election|training session|town hall|all-hands meeting|press briefing|field trip|
dentist visit|yoga class|book club|parents' evening|charity run|safety drill|code freeze|tasting|lecture|seminar|flight|
vaccination|moving day|house viewing|graduation|recital|pub quiz""".replace("\n", "").split("|")
THINGS = """tower|dam|hall|garden|ship|fence|pipeline|canal|statue|pool|runway|wall|trail|tank|reservoir|warehouse|cable|mast|
pier|stadium|lighthouse|chimney|silo|elevator|trench|platform|staircase|barn|corridor|crane""".replace(
    "\n", ""
).split("|")
PLACES = """library|museum|pharmacy|cinema|gym|post office|bakery|swimming pool|ticket office|cafe|clinic|embassy|supermarket|
zoo|visitor centre|gallery|ferry terminal|bike shop|town hall|restaurant|car park|help desk|reception|market|bank branch""".replace(
    "\n", ""
).split("|")
ADJECTIVES = listed(
    """old new northern southern eastern western central main second upper lower outer inner grand royal
        small"""
)
MONTHS = listed("""January February March April May June July August September October November December""")
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
TOPICS = """bird migration|coral reefs|battery chemistry|medieval trade|sleep disorders|speech synthesis|protein folding|
traffic prediction|urban heat|graph algorithms|soil erosion|machine translation|quantum error correction|dark matter|
reinforcement learning|tax reform|renaissance music|early childhood education|computer vision|cryptography|plant genetics|
volcanoes|consumer behaviour|robot navigation|recommender systems|immune response""".replace("\n", "").split("|")
PETS = listed("dog cat parrot rabbit hamster goldfish tortoise horse snake ferret")
COUNTABLES = """cars|boats|laptops|books|cameras|guitars|houses|servers|printers|desks|bakeries|patents|paintings|horses|cats|
bicycles|monitors|shops|trucks|drones|stamps|tents|pianos|rings|sheep""".replace("\n", "").split("|")
VEHICLES = listed("tram bus bike train car ferry scooter metro")
UNIVERSITIES = """Stanford|MIT|Oxford|Cambridge|ETH Zurich|Harvard|Yale|Princeton|Berkeley|Cornell|Caltech|NYU|UCLA|Imperial College|
McGill|Tsinghua|Makerere University|Heidelberg University|KAIST|TU Delft|Bologna|Uppsala""".replace(
    "\n", ""
).split("|")
FIELDS = """biology|chemistry|physics|mathematics|economics|law|medicine|history|philosophy|linguistics|geology|architecture|
computer science|psychology|nursing|music|literature|astronomy|sociology|statistics""".replace("\n", "").split("|")
MATERIALS = listed(
    """oak steel brick marble concrete glass bamboo copper granite plastic leather wool cotton silk aluminium"""
)
